-- 1 a sum by a category of the items counts an order once in each
-- SELECT category, MEASURE(amount), MEASURE(quantity) FROM sales GROUP BY 1 ORDER BY 1
-- [1, 1, 1]
SELECT g.k0 AS "category", g.m0 AS "amount", g.m1 AS "quantity" FROM (SELECT b0.k0 AS k0, b0.m0 AS m0, b1.m1 AS m1 FROM (SELECT d.k0 AS k0, sum(d.m0) AS m0 FROM (SELECT DISTINCT CAST(("products".category) AS text) AS k0, ("orders".id) AS p0, "orders".amount AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id))) AS d GROUP BY 1) AS b0 LEFT JOIN (SELECT CAST(("products".category) AS text) AS k0, sum("items".quantity) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) GROUP BY 1) AS b1 ON ARRAY[b0.k0] = ARRAY[b1.k0]) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 1 and once in the total
-- SELECT MEASURE(amount), MEASURE(quantity) FROM sales
-- [1, 1]
SELECT g.m0 AS "amount", g.m1 AS "quantity" FROM (SELECT b0.m0 AS m0, b1.m1 AS m1 FROM (SELECT sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS b0 CROSS JOIN (SELECT sum("items".quantity) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id)) AS b1) AS g;

-- 1 also where the items are only filtered by
-- SELECT MEASURE(amount) FROM sales WHERE category IN ('shoes', 'hats')
-- ["shoes", "hats", 1, 1, 1]
SELECT g.m0 AS "amount" FROM (SELECT sum(d.m0) AS m0 FROM (SELECT DISTINCT ("orders".id) AS p0, "orders".amount AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($3 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($4 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($5 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) WHERE (CAST(("products".category) AS text) IN (CAST($1 AS text), CAST($2 AS text)))) AS d) AS g;

-- 2 an average is of orders, not of their items; nulls do not count
-- SELECT category, MEASURE(mean) FROM sales GROUP BY 1 ORDER BY 1
-- [1, 1, 1]
SELECT g.k0 AS "category", g.m0 AS "mean" FROM (SELECT d.k0 AS k0, CAST((1::numeric * sum(d.m0) / NULLIF(count(d.m0), 0)) AS double precision) AS m0 FROM (SELECT DISTINCT CAST(("products".category) AS text) AS k0, ("orders".id) AS p0, "orders".amount AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id))) AS d GROUP BY 1) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 3 a count on the one side counts keys
-- SELECT category, MEASURE(orders_count), MEASURE(customers_count) FROM sales GROUP BY 1 ORDER BY 1
-- [1, 1, 1, 1]
SELECT g.k0 AS "category", g.m0 AS "orders_count", g.m1 AS "customers_count" FROM (SELECT b0.k0 AS k0, b0.m0 AS m0, b1.m1 AS m1 FROM (SELECT CAST(("products".category) AS text) AS k0, count(DISTINCT ("orders".id)) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) GROUP BY 1) AS b0 LEFT JOIN (SELECT CAST(("products".category) AS text) AS k0, count(DISTINCT ("customers".id)) FILTER (WHERE ("customers".id) IS NOT NULL) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN (CAST($4 AS bigint)))) AS "customers" ON ("orders".customer_id = ("customers".id)) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) GROUP BY 1) AS b1 ON ARRAY[b0.k0] = ARRAY[b1.k0]) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 4 5 two facts by a dimension of both: no cross product, and what only one has is kept
-- SELECT name, MEASURE(amount), MEASURE(pages) FROM reach GROUP BY 1 ORDER BY 1
-- [1, 1, 1]
SELECT g.k0 AS "name", g.m0 AS "amount", g.m1 AS "pages" FROM (SELECT COALESCE(s0.k0, s1.k0) AS k0, s0.m0 AS m0, s1.m1 AS m1 FROM (SELECT CAST(("customers".name) AS text) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM customers AS "customers" WHERE (("customers".owner) IN (CAST($2 AS bigint)))) AS "customers" ON ("orders".customer_id = ("customers".id)) GROUP BY 1) AS s0 FULL JOIN (SELECT CAST(("visits.customers".name) AS text) AS k0, sum("visits".pages) AS m1 FROM (SELECT * FROM visits AS "visits" WHERE (("visits".owner) IN (CAST($3 AS bigint)))) AS "visits" LEFT JOIN (SELECT * FROM customers AS "visits.customers" WHERE (("visits.customers".owner) IN (CAST($2 AS bigint)))) AS "visits.customers" ON ("visits".customer_id = ("visits.customers".id)) GROUP BY 1) AS s1 ON ARRAY[s0.k0] = ARRAY[s1.k0]) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 4 the one alone
-- SELECT name, MEASURE(pages) FROM reach GROUP BY 1 ORDER BY 1
-- [1, 1]
SELECT g.k0 AS "name", g.m0 AS "pages" FROM (SELECT CAST(("visits.customers".name) AS text) AS k0, sum("visits".pages) AS m0 FROM (SELECT * FROM visits AS "visits" WHERE (("visits".owner) IN (CAST($1 AS bigint)))) AS "visits" LEFT JOIN (SELECT * FROM customers AS "visits.customers" WHERE (("visits.customers".owner) IN (CAST($2 AS bigint)))) AS "visits.customers" ON ("visits".customer_id = ("visits.customers".id)) GROUP BY 1) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 4 both totals
-- SELECT MEASURE(pages), MEASURE(amount) FROM reach
-- [1, 1]
SELECT g.m0 AS "pages", g.m1 AS "amount" FROM (SELECT b0.m0 AS m0, b1.m1 AS m1 FROM (SELECT sum("visits".pages) AS m0 FROM (SELECT * FROM visits AS "visits" WHERE (("visits".owner) IN (CAST($1 AS bigint)))) AS "visits") AS b0 CROSS JOIN (SELECT sum("orders".amount) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($2 AS bigint)))) AS "orders") AS b1) AS g;

-- 6 a ratio beside a measure of many rows is as when asked alone
-- SELECT channel, MEASURE(per_order), MEASURE(quantity) FROM sales GROUP BY 1 ORDER BY 1
-- [1, 1]
SELECT g.k0 AS "channel", g.m0 AS "per_order", g.m1 AS "quantity" FROM (SELECT b0.k0 AS k0, ((SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * (CAST(1 AS numeric) * CAST(b0.n0 AS numeric)) AS l, 1::numeric * b0.n1 AS r OFFSET 0) AS given)) AS m0, b1.m1 AS m1 FROM (SELECT CAST(("orders".channel) AS text) AS k0, sum("orders".amount) AS n0, count(*) AS n1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS b0 LEFT JOIN (SELECT CAST(("orders".channel) AS text) AS k0, sum("items".quantity) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) GROUP BY 1) AS b1 ON ARRAY[b0.k0] = ARRAY[b1.k0]) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 7 and answered where they do not
-- SELECT channel, MEASURE(amount) FROM bare_sales GROUP BY 1 ORDER BY 1
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "amount" FROM (SELECT CAST(("bare".channel) AS text) AS k0, sum("bare".amount) AS m0 FROM (SELECT * FROM orders AS "bare" WHERE (("bare".owner) IN (CAST($1 AS bigint)))) AS "bare" GROUP BY 1) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 8 the total of a ratio is the ratio of the totals
-- SELECT MEASURE(per_order) FROM sales
-- [1]
SELECT g.m0 AS "per_order" FROM (SELECT ((SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * (CAST(1 AS numeric) * CAST(b0.n0 AS numeric)) AS l, 1::numeric * b0.n1 AS r OFFSET 0) AS given)) AS m0 FROM (SELECT sum("orders".amount) AS n0, count(*) AS n1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS b0) AS g;

-- 9 divided by nothing: null
-- SELECT MEASURE(per_none), MEASURE(amount) / MEASURE(none), MEASURE(none) FROM sales
-- [1]
SELECT g.m0 AS "per_none", (SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * g.m1 AS l, 1::numeric * g.m2 AS r OFFSET 0) AS given) AS "?column?", g.m2 AS "none" FROM (SELECT ((SELECT CASE WHEN (l = 0 OR abs(l) BETWEEN 1e-150 AND 1e150) AND r <> 0 AND (r = 0 OR abs(r) BETWEEN 1e-150 AND 1e150) THEN CAST(l AS double precision) / CAST(r AS double precision) END FROM (SELECT 1::numeric * b0.n0 AS l, 1::numeric * b0.n1 AS r OFFSET 0) AS given)) AS m0, b0.n0 AS m1, b0.n1 AS m2 FROM (SELECT sum("orders".amount) AS n0, count(*) FILTER (WHERE ("orders".id < 0)) AS n1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS b0) AS g;

-- 10 different buyers are not added up
-- SELECT channel, MEASURE(buyers), MEASURE(buyers_of_all) FROM sales GROUP BY 1 ORDER BY 1
-- [1]
SELECT g.k0 AS "channel", g.m0 AS "buyers", g.m1 AS "buyers_of_all" FROM (SELECT COALESCE(s0.k0, s1.k0) AS k0, s0.m0 AS m0, s1.m1 AS m1 FROM (SELECT CAST(("orders".channel) AS text) AS k0, count(DISTINCT "orders".customer_id) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS s0 FULL JOIN (SELECT a.k0 AS k0, c.m1 AS m1 FROM (SELECT b0.k0 AS k0, (b0.n0) AS m1 FROM (SELECT CAST(("orders".channel) AS text) AS k0, count(DISTINCT "orders".customer_id) AS n0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" GROUP BY 1) AS b0) AS a CROSS JOIN (SELECT (b0.n0) AS m1 FROM (SELECT count(DISTINCT "orders".customer_id) AS n0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS b0) AS c) AS s1 ON ARRAY[s0.k0] = ARRAY[s1.k0]) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 10 nor in the total
-- SELECT MEASURE(buyers) FROM sales
-- [1]
SELECT g.m0 AS "buyers" FROM (SELECT count(DISTINCT "orders".customer_id) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders") AS g;

-- 11 the last balance of each account, added up over accounts and never over days
-- SELECT date_trunc('month', day), MEASURE(balance) FROM balances GROUP BY 1 ORDER BY 1
-- []
SELECT g.k0 AS "date_trunc", g.m0 AS "balance" FROM (SELECT s.k0 AS k0, sum(s.m0) AS m0 FROM (SELECT b0.k0 AS k0, b0.x0 AS x0, (b0.n0) AS m0 FROM (SELECT date_trunc('month', CAST(("balances".day) AS timestamp)) AS k0, ("balances".account) AS x0, ((array_agg("balances".amount ORDER BY "balances".day DESC))[1]) AS n0 FROM balances AS "balances" GROUP BY 1, 2) AS b0) AS s GROUP BY 1) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 11 over all days
-- SELECT MEASURE(balance) FROM balances
-- []
SELECT g.m0 AS "balance" FROM (SELECT sum(s.m0) AS m0 FROM (SELECT b0.x0 AS x0, (b0.n0) AS m0 FROM (SELECT ("balances".account) AS x0, ((array_agg("balances".amount ORDER BY "balances".day DESC))[1]) AS n0 FROM balances AS "balances" GROUP BY 1) AS b0) AS s) AS g;

-- 12 the filter of a measure and WHERE, both; its siblings know of WHERE only
-- SELECT MEASURE(web_amount), MEASURE(amount), MEASURE(orders_count) FROM sales WHERE at >= '2024-01-01'
-- ["2024-01-01 00:00:00.000000", 1]
SELECT g.m0 AS "web_amount", g.m1 AS "amount", g.m2 AS "orders_count" FROM (SELECT sum("orders".amount) FILTER (WHERE (("orders".channel) = 'web')) AS m0, sum("orders".amount) AS m1, count(*) AS m2 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($2 AS bigint)))) AS "orders" WHERE (("orders".at) >= CAST($1 AS timestamp))) AS g;

-- 12 and of a segment
-- SELECT MEASURE(amount), MEASURE(web_amount) FROM sales WHERE NOT online
-- [1]
SELECT g.m0 AS "amount", g.m1 AS "web_amount" FROM (SELECT sum("orders".amount) AS m0, sum("orders".amount) FILTER (WHERE (("orders".channel) = 'web')) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" WHERE (NOT (("orders".channel) = 'web'))) AS g;

-- 13 HAVING leaves groups out, after WHERE has left rows out
-- SELECT channel, MEASURE(amount) FROM sales WHERE at >= '2024-01-01' GROUP BY 1 HAVING MEASURE(amount) > 21
-- ["2024-01-01 00:00:00.000000", 1]
SELECT g.k0 AS "channel", g.m0 AS "amount" FROM (SELECT CAST(("orders".channel) AS text) AS k0, sum("orders".amount) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($2 AS bigint)))) AS "orders" WHERE (("orders".at) >= CAST($1 AS timestamp)) GROUP BY 1) AS g WHERE (g.m0 > 21);

-- an empty table: a total has a row, groups have none
-- SELECT MEASURE(rows_count), MEASURE(total), MEASURE(words), MEASURE(running) FROM nothing
-- [1]
SELECT g.m0 AS "rows_count", g.m1 AS "total", g.m2 AS "words", g.m3 AS "running" FROM (SELECT b0.m0 AS m0, b0.m1 AS m1, b0.m2 AS m2, b1.m3 AS m3 FROM (SELECT count(*) AS m0, sum(("nothing".id)) AS m1, count(DISTINCT "nothing".word) AS m2 FROM (SELECT * FROM nothing AS "nothing" WHERE (("nothing".owner) IN (CAST($1 AS bigint)))) AS "nothing") AS b0 CROSS JOIN (SELECT sum(("nothing".id)) AS m3 FROM (SELECT * FROM nothing AS "nothing" WHERE (("nothing".owner) IN (CAST($1 AS bigint)))) AS "nothing") AS b1) AS g;

-- an empty table by group
-- SELECT word, MEASURE(rows_count), MEASURE(total) FROM nothing GROUP BY 1
-- [1]
SELECT g.k0 AS "word", g.m0 AS "rows_count", g.m1 AS "total" FROM (SELECT CAST(("nothing".word) AS text) AS k0, count(*) AS m0, sum(("nothing".id)) AS m1 FROM (SELECT * FROM nothing AS "nothing" WHERE (("nothing".owner) IN (CAST($1 AS bigint)))) AS "nothing" GROUP BY 1) AS g;
