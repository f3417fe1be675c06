-- 24 the group of null is kept, and rows that nothing is joined to are in it
-- SELECT name, MEASURE(orders_count), MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 1
-- [1, 1]
SELECT g.k0 AS "name", g.m0 AS "orders_count", g.m1 AS "amount" FROM (SELECT toString(("customers".name)) AS k0, toInt64(count()) AS m0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN ({p2:Int64}))) AS "customers" ON ("orders".customer_id = ("customers".id)) GROUP BY 1) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 24 rows by themselves, too
-- SELECT id, name FROM sales WHERE name IS NULL ORDER BY id
-- [1, 1]
SELECT g.k0 AS "id", g.k1 AS "name" FROM (SELECT ("orders".id) AS k0, toString(("customers".name)) AS k1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN ({p2:Int64}))) AS "customers" ON ("orders".customer_id = ("customers".id)) WHERE (toString(("customers".name)) IS NULL)) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 25 one way: answered, without a view
-- SELECT customers.name, MEASURE(orders.amount), MEASURE(visits.pages) FROM orders CROSS JOIN customers CROSS JOIN visits GROUP BY 1 ORDER BY 1
-- [1, 1, 1]
SELECT g.k0 AS "name", g.m0 AS "amount", g.m1 AS "pages" FROM (SELECT COALESCE(s0.k0, s1.k0) AS k0, s0.m0 AS m0, s1.m1 AS m1 FROM (SELECT toString(("orders.customers".name)) AS k0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "orders.customers" WHERE (("orders.customers".owner) IN ({p2:Int64}))) AS "orders.customers" ON ("orders".customer_id = ("orders.customers".id)) GROUP BY 1) AS s0 FULL JOIN (SELECT toString(("visits.customers".name)) AS k0, sumOrNull(("visits".pages * toDecimal256('1', 0))) AS m1 FROM (SELECT * FROM visits AS "visits" WHERE (("visits".owner) IN ({p3:Int64}))) AS "visits" LEFT JOIN (SELECT * FROM customers AS "visits.customers" WHERE (("visits.customers".owner) IN ({p2:Int64}))) AS "visits.customers" ON ("visits".customer_id = ("visits.customers".id)) GROUP BY 1) AS s1 ON s0.k0 IS NOT DISTINCT FROM s1.k0) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 26 one cube by two ways of a view, each under its own name
-- SELECT home_city, shop_city, MEASURE(orders_count) FROM places GROUP BY 1, 2 ORDER BY 1, 2
-- [1, 1, 1]
SELECT g.k0 AS "home_city", g.k1 AS "shop_city", g.m0 AS "orders_count" FROM (SELECT toString(("orders.customers.cities".city)) AS k0, toString(("orders.shops.cities".city)) AS k1, toInt64(count()) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN ({p2:Int64}))) AS "customers" ON ("orders".customer_id = ("customers".id)) LEFT JOIN (SELECT * FROM shops AS "shops" WHERE (("shops".owner) IN ({p3:Int64}))) AS "shops" ON ("orders".shop_id = ("shops".id)) LEFT JOIN cities AS "orders.customers.cities" ON ("customers".city_id = ("orders.customers.cities".id)) LEFT JOIN cities AS "orders.shops.cities" ON ("shops".city_id = ("orders.shops.cities".id)) GROUP BY 1, 2) AS g ORDER BY g.k0 ASC NULLS LAST, g.k1 ASC NULLS LAST;

-- 26 a filter on one of them says nothing of the other
-- SELECT shop_city, MEASURE(orders_count) FROM places WHERE home_city = 'Oslo' GROUP BY 1
-- ["Oslo", 1, 1, 1]
SELECT g.k0 AS "shop_city", g.m0 AS "orders_count" FROM (SELECT toString(("orders.shops.cities".city)) AS k0, toInt64(count()) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p2:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM shops AS "shops" WHERE (("shops".owner) IN ({p3:Int64}))) AS "shops" ON ("orders".shop_id = ("shops".id)) LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN ({p4:Int64}))) AS "customers" ON ("orders".customer_id = ("customers".id)) LEFT JOIN cities AS "orders.shops.cities" ON ("shops".city_id = ("orders.shops.cities".id)) LEFT JOIN cities AS "orders.customers.cities" ON ("customers".city_id = ("orders.customers.cities".id)) WHERE (toString(("orders.customers.cities".city)) = {p1:String}) GROUP BY 1) AS g;

-- 26 a cube joined with itself
-- SELECT chief, MEASURE(staff_count) FROM team GROUP BY 1 ORDER BY 1
-- [1, 1]
SELECT g.k0 AS "chief", g.m0 AS "staff_count" FROM (SELECT toString(("chiefs".name)) AS k0, toInt64(count()) AS m0 FROM (SELECT * FROM staff AS "staff" WHERE (("staff".owner) IN ({p1:Int64}))) AS "staff" LEFT JOIN (SELECT * FROM staff AS "chiefs" WHERE (("chiefs".owner) IN ({p2:Int64}))) AS "chiefs" ON ("staff".chief_id = ("chiefs".id)) GROUP BY 1) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 27 the average of monthly sums
-- SELECT AVG(x.amount) FROM (SELECT date_trunc('month', at) AS m, MEASURE(amount) AS amount FROM sales GROUP BY 1) AS x
-- [1]
SELECT q1.a0 AS "avg" FROM (SELECT toFloat64OrNull(toString(sumOrNull((q0.c1 * toDecimal256('1', 0))) * toDecimal256('1', 20) / nullIf(toDecimal256(count(q0.c1), 0), 0))) AS a0 FROM (SELECT g.k0 AS c0, g.m0 AS c1 FROM (SELECT addMonths(toDateTime64('1970-01-01 00:00:00', 6, 'UTC'), toRelativeMonthNum(CAST(("orders".at) AS Nullable(DateTime64(6, 'UTC')))) - 1 - 23640) AS k0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g) AS q0) AS q1;

-- 27 a limit outside leaves the sums as they are
-- SELECT x.m, x.amount FROM (SELECT date_trunc('month', at) AS m, MEASURE(amount) AS amount FROM sales GROUP BY 1) AS x ORDER BY x.m DESC LIMIT 2
-- [1]
SELECT q0.c0 AS "m", q0.c1 AS "amount" FROM (SELECT g.k0 AS c0, g.m0 AS c1 FROM (SELECT addMonths(toDateTime64('1970-01-01 00:00:00', 6, 'UTC'), toRelativeMonthNum(CAST(("orders".at) AS Nullable(DateTime64(6, 'UTC')))) - 1 - 23640) AS k0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g) AS q0 ORDER BY q0.c0 DESC NULLS FIRST, q0.c1 ASC NULLS LAST LIMIT 2;

-- 27 a limit inside is one of the inner rows
-- SELECT SUM(x.amount) FROM (SELECT channel, MEASURE(amount) AS amount FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 1) AS x
-- [1]
SELECT q1.a0 AS "sum" FROM (SELECT sumOrNull((q0.c1 * toDecimal256('1', 0))) AS a0 FROM (SELECT g.k0 AS c0, g.m0 AS c1 FROM (SELECT toString(("orders".channel)) AS k0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS LAST, g.k0 ASC NULLS LAST LIMIT 1) AS q0) AS q1;

-- 28 every dimension of a cube
-- SELECT * FROM products ORDER BY id
-- [1]
SELECT g.k0 AS "id", g.k1 AS "owner", g.k2 AS "category" FROM (SELECT ("products".id) AS k0, ("products".owner) AS k1, toString(("products".category)) AS k2 FROM (SELECT * FROM products AS "products" WHERE (("products".owner) IN ({p1:Int64}))) AS "products") AS g ORDER BY g.k0 ASC NULLS LAST;

-- 29 the top by a figure that two have: always the same one
-- SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 1
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "orders_count" FROM (SELECT toString(("orders".channel)) AS k0, toInt64(count()) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS FIRST, g.k0 ASC NULLS LAST LIMIT 1;

-- 29 and the rest on the next page
-- SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 2 OFFSET 1
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "orders_count" FROM (SELECT toString(("orders".channel)) AS k0, toInt64(count()) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS FIRST, g.k0 ASC NULLS LAST LIMIT 2 OFFSET 1;

-- 30 one measure under two names
-- SELECT MEASURE(amount) AS one, MEASURE(amount) AS two FROM sales
-- [1]
SELECT g.m0 AS "one", g.m0 AS "two" FROM (SELECT sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders") AS g;

-- 30 a name that another member has
-- SELECT MEASURE(amount) AS orders_count, MEASURE(orders_count) AS amount FROM sales
-- [1]
SELECT g.m0 AS "orders_count", g.m1 AS "amount" FROM (SELECT sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0, toInt64(count()) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders") AS g;

-- 30 ORDER BY means the selected one
-- SELECT category AS channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY channel
-- [1, 1, 1]
SELECT g.k0 AS "channel", g.m0 AS "orders_count" FROM (SELECT toString(("products".category)) AS k0, toInt64(uniqExact(("orders".id))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN ({p2:Int64}))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN ({p3:Int64}))) AS "products" ON ("items".product_id = ("products".id)) GROUP BY 1) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 31 division, decimals and rounding
-- SELECT 1 / 2, 7 / 2, 0.1 + 0.2, round(2.5), round(-2.5), 1 / 3.0, 7 % 3, -7 % 3, 10 / 0, 1.10 * 3, MEASURE(orders_count) / 2, round(MEASURE(amount) / 3, 2) FROM sales
-- [1]
SELECT (toFloat64(1) / nullIf(toFloat64(2), 0) + 0) AS "?column?", (toFloat64(7) / nullIf(toFloat64(2), 0) + 0) AS "?column? 2", ((toDecimal128('0.1', 1) * toDecimal256('1', 0)) + toDecimal128('0.2', 1)) AS "?column? 3", (sign(toDecimal128('2.5', 1)) * floor(abs((toDecimal128('2.5', 1) * toDecimal256('1', 0))) + toDecimal64('0.5', 1)) + 0) AS "round", (sign(toDecimal128('-2.5', 1)) * floor(abs((toDecimal128('-2.5', 1) * toDecimal256('1', 0))) + toDecimal64('0.5', 1)) + 0) AS "round 2", (toFloat64(1) / nullIf(toFloat64(3), 0) + 0) AS "?column? 4", ((toDecimal256('7', 0) + 0 * toDecimal256('3', 0)) % nullIf(toDecimal256('3', 0) + 0 * toDecimal256('7', 0), 0) + 0) AS "mod", (((-7 * toDecimal256('1', 0)) + 0 * toDecimal256('3', 0)) % nullIf(toDecimal256('3', 0) + 0 * (-7 * toDecimal256('1', 0)), 0) + 0) AS "mod 2", (toFloat64(10) / nullIf(toFloat64(0), 0) + 0) AS "?column? 5", (toDecimal128('1.1', 1) * toDecimal256('3', 0) + 0) AS "?column? 6", (toFloat64(g.m0) / nullIf(toFloat64(2), 0) + 0) AS "?column? 7", (sign((toFloat64(g.m1) / nullIf(toFloat64(3), 0) + 0)) * floor(abs(((toFloat64(g.m1) / nullIf(toFloat64(3), 0) + 0) * toDecimal256('1', 0))) * toDecimal256('100', 0) + toDecimal64('0.5', 1)) / toDecimal256('100', 0) + 0) AS "round 3" FROM (SELECT toInt64(count()) AS m0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders") AS g;

-- 31 nulls come last, whichever way, unless one says so
-- SELECT channel, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "amount" FROM (SELECT toString(("orders".channel)) AS k0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS LAST;

-- 31 nulls are the largest otherwise
-- SELECT channel, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "amount" FROM (SELECT toString(("orders".channel)) AS k0, sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS FIRST;
