-- 24 the group of null is kept, and rows that nothing is joined to are in it
-- SELECT name, MEASURE(orders_count), MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 1
-- [1, 1]
SELECT g.k0 AS "name", g.m0 AS "orders_count", g.m1 AS "amount" FROM (SELECT CAST(("customers".name) AS text) AS k0, count(*) AS m0, sum("orders".amount) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN (CAST($2 AS bigint)))) AS "customers" ON ("orders".customer_id = ("customers".id)) GROUP BY 1) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 24 rows by themselves, too
-- SELECT id, name FROM sales WHERE name IS NULL ORDER BY id
-- [1, 1]
SELECT g.k0 AS "id", g.k1 AS "name" FROM (SELECT ("orders".id) AS k0, CAST(("customers".name) AS text) AS k1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN (CAST($2 AS bigint)))) AS "customers" ON ("orders".customer_id = ("customers".id)) WHERE (CAST(("customers".name) AS text) IS NULL)) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 25 one way: answered, without a view
-- SELECT customers.name, MEASURE(orders.amount), MEASURE(visits.pages) FROM orders CROSS JOIN customers CROSS JOIN visits GROUP BY 1 ORDER BY 1
-- [1, 1, 1]
SELECT g.k0 AS "name", g.m0 AS "amount", g.m1 AS "pages" FROM (SELECT COALESCE(s0.k0, s1.k0) AS k0, s0.m0 AS m0, s1.m1 AS m1 FROM (SELECT CAST(("orders.customers".name) AS text) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "orders.customers" WHERE (("orders.customers".owner) IN (CAST($2 AS bigint)))) AS "orders.customers" ON ("orders".customer_id = ("orders.customers".id)) GROUP BY 1) AS s0 FULL JOIN (SELECT CAST(("visits.customers".name) AS text) AS k0, sum("visits".pages) AS m1 FROM (SELECT * FROM visits AS "visits" WHERE (("visits".owner) IN (CAST($3 AS bigint)))) AS "visits" LEFT JOIN (SELECT * FROM customers AS "visits.customers" WHERE (("visits.customers".owner) IN (CAST($2 AS bigint)))) AS "visits.customers" ON ("visits".customer_id = ("visits.customers".id)) GROUP BY 1) AS s1 ON ARRAY[s0.k0] = ARRAY[s1.k0]) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 26 one cube by two ways of a view, each under its own name
-- SELECT home_city, shop_city, MEASURE(orders_count) FROM places GROUP BY 1, 2 ORDER BY 1, 2
-- [1, 1, 1]
SELECT g.k0 AS "home_city", g.k1 AS "shop_city", g.m0 AS "orders_count" FROM (SELECT CAST(("orders.customers.cities".city) AS text) AS k0, CAST(("orders.shops.cities".city) AS text) AS k1, count(*) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN (CAST($2 AS bigint)))) AS "customers" ON ("orders".customer_id = ("customers".id)) LEFT JOIN (SELECT * FROM shops AS "shops" WHERE (("shops".owner) IN (CAST($3 AS bigint)))) AS "shops" ON ("orders".shop_id = ("shops".id)) LEFT JOIN cities AS "orders.customers.cities" ON ("customers".city_id = ("orders.customers.cities".id)) LEFT JOIN cities AS "orders.shops.cities" ON ("shops".city_id = ("orders.shops.cities".id)) GROUP BY 1, 2) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST, (g.k1 COLLATE "C") ASC NULLS LAST;

-- 26 a filter on one of them says nothing of the other
-- SELECT shop_city, MEASURE(orders_count) FROM places WHERE home_city = 'Oslo' GROUP BY 1
-- ["Oslo", 1, 1, 1]
SELECT g.k0 AS "shop_city", g.m0 AS "orders_count" FROM (SELECT CAST(("orders.shops.cities".city) AS text) AS k0, count(*) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($2 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM shops AS "shops" WHERE (("shops".owner) IN (CAST($3 AS bigint)))) AS "shops" ON ("orders".shop_id = ("shops".id)) LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN (CAST($4 AS bigint)))) AS "customers" ON ("orders".customer_id = ("customers".id)) LEFT JOIN cities AS "orders.shops.cities" ON ("shops".city_id = ("orders.shops.cities".id)) LEFT JOIN cities AS "orders.customers.cities" ON ("customers".city_id = ("orders.customers.cities".id)) WHERE (CAST(("orders.customers.cities".city) AS text) = CAST($1 AS text)) GROUP BY 1) AS g;

-- 26 a cube joined with itself
-- SELECT chief, MEASURE(staff_count) FROM team GROUP BY 1 ORDER BY 1
-- [1, 1]
SELECT g.k0 AS "chief", g.m0 AS "staff_count" FROM (SELECT CAST(("chiefs".name) AS text) AS k0, count(*) AS m0 FROM (SELECT * FROM staff AS "staff" WHERE (("staff".owner) IN (CAST($1 AS bigint)))) AS "staff" LEFT JOIN (SELECT * FROM staff AS "chiefs" WHERE (("chiefs".owner) IN (CAST($2 AS bigint)))) AS "chiefs" ON ("staff".chief_id = ("chiefs".id)) GROUP BY 1) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 27 the average of monthly sums
-- SELECT AVG(x.amount) FROM (SELECT date_trunc('month', at) AS m, MEASURE(amount) AS amount FROM sales GROUP BY 1) AS x
-- [1]
SELECT q1.a0 AS "avg" FROM (SELECT CAST((1::numeric * sum(q0.c1) / NULLIF(count(q0.c1), 0)) AS double precision) AS a0 FROM (SELECT g.k0 AS c0, g.m0 AS c1 FROM (SELECT date_trunc('month', CAST(("orders".at) AS timestamp)) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g) AS q0) AS q1;

-- 27 a limit outside leaves the sums as they are
-- SELECT x.m, x.amount FROM (SELECT date_trunc('month', at) AS m, MEASURE(amount) AS amount FROM sales GROUP BY 1) AS x ORDER BY x.m DESC LIMIT 2
-- [1]
SELECT q0.c0 AS "m", q0.c1 AS "amount" FROM (SELECT g.k0 AS c0, g.m0 AS c1 FROM (SELECT date_trunc('month', CAST(("orders".at) AS timestamp)) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g) AS q0 ORDER BY q0.c0 DESC NULLS FIRST, q0.c1 ASC NULLS LAST LIMIT 2;

-- 27 a limit inside is one of the inner rows
-- SELECT SUM(x.amount) FROM (SELECT channel, MEASURE(amount) AS amount FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 1) AS x
-- [1]
SELECT q1.a0 AS "sum" FROM (SELECT sum(q0.c1) AS a0 FROM (SELECT g.k0 AS c0, g.m0 AS c1 FROM (SELECT CAST(("orders".channel) AS text) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS LAST, (g.k0 COLLATE "C") ASC NULLS LAST LIMIT 1) AS q0) AS q1;

-- 28 every dimension of a cube
-- SELECT * FROM products ORDER BY id
-- [1]
SELECT g.k0 AS "id", g.k1 AS "owner", g.k2 AS "category" FROM (SELECT ("products".id) AS k0, ("products".owner) AS k1, CAST(("products".category) AS text) AS k2 FROM (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($1 AS bigint)))) AS "products") AS g ORDER BY g.k0 ASC NULLS LAST;

-- 29 the top by a figure that two have: always the same one
-- SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 1
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "orders_count" FROM (SELECT CAST(("orders".channel) AS text) AS k0, count(*) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS FIRST, (g.k0 COLLATE "C") ASC NULLS LAST LIMIT 1;

-- 29 and the rest on the next page
-- SELECT channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 2 OFFSET 1
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "orders_count" FROM (SELECT CAST(("orders".channel) AS text) AS k0, count(*) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS FIRST, (g.k0 COLLATE "C") ASC NULLS LAST LIMIT 2 OFFSET 1;

-- 30 one measure under two names
-- SELECT MEASURE(amount) AS one, MEASURE(amount) AS two FROM sales
-- [1]
SELECT g.m0 AS "one", g.m0 AS "two" FROM (SELECT sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS g;

-- 30 a name that another member has
-- SELECT MEASURE(amount) AS orders_count, MEASURE(orders_count) AS amount FROM sales
-- [1]
SELECT g.m0 AS "orders_count", g.m1 AS "amount" FROM (SELECT sum("orders".amount) AS m0, count(*) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS g;

-- 30 ORDER BY means the selected one
-- SELECT category AS channel, MEASURE(orders_count) FROM sales GROUP BY 1 ORDER BY channel
-- [1, 1, 1]
SELECT g.k0 AS "channel", g.m0 AS "orders_count" FROM (SELECT CAST(("products".category) AS text) AS k0, count(DISTINCT ("orders".id)) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) GROUP BY 1) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 31 division, decimals and rounding
-- SELECT 1 / 2, 7 / 2, 0.1 + 0.2, round(2.5), round(-2.5), 1 / 3.0, 7 % 3, -7 % 3, 10 / 0, 1.10 * 3, MEASURE(orders_count) / 2, round(MEASURE(amount) / 3, 2) FROM sales
-- [1]
SELECT (SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * 1 AS l, 1::numeric * 2 AS r OFFSET 0) AS given) AS "?column?", (SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * 7 AS l, 1::numeric * 2 AS r OFFSET 0) AS given) AS "?column? 2", (CAST(0.1 AS numeric) + CAST(0.2 AS numeric)) AS "?column? 3", round(CAST(2.5 AS numeric)) AS "round", round(CAST(-2.5 AS numeric)) AS "round 2", (SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * 1 AS l, 1::numeric * 3 AS r OFFSET 0) AS given) AS "?column? 4", mod(CAST(7 AS numeric), NULLIF(CAST(3 AS numeric), 0)) AS "mod", mod(CAST(-7 AS numeric), NULLIF(CAST(3 AS numeric), 0)) AS "mod 2", (SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * 10 AS l, 1::numeric * 0 AS r OFFSET 0) AS given) AS "?column? 5", (CAST(1.1 AS numeric) * CAST(3 AS numeric)) AS "?column? 6", (SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * g.m0 AS l, 1::numeric * 2 AS r OFFSET 0) AS given) AS "?column? 7", round(CAST((SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * g.m1 AS l, 1::numeric * 3 AS r OFFSET 0) AS given) AS numeric), 2) AS "round 3" FROM (SELECT count(*) AS m0, sum("orders".amount) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS g;

-- 31 nulls come last, whichever way, unless one says so
-- SELECT channel, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC NULLS LAST
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "amount" FROM (SELECT CAST(("orders".channel) AS text) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS LAST;

-- 31 nulls are the largest otherwise
-- SELECT channel, MEASURE(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "amount" FROM (SELECT CAST(("orders".channel) AS text) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS g ORDER BY g.m0 DESC NULLS FIRST;
