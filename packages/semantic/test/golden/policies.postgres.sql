-- 32 the filter of a cube that is only filtered by
-- SELECT MEASURE(amount) FROM sales WHERE category = 'shoes'
-- ["shoes", 1, 1, 1]
SELECT g.m0 AS "amount" FROM (SELECT sum(d.m0) AS m0 FROM (SELECT DISTINCT ("orders".id) AS p0, "orders".amount AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($2 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($3 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($4 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) WHERE (CAST(("products".category) AS text) = CAST($1 AS text))) AS d) AS g;

-- 32 for who sees all rows
-- SELECT MEASURE(amount) FROM sales WHERE category = 'shoes'
-- ["shoes"]
SELECT g.m0 AS "amount" FROM (SELECT sum(d.m0) AS m0 FROM (SELECT DISTINCT ("orders".id) AS p0, "orders".amount AS m0 FROM orders AS "orders" LEFT JOIN items AS "items" ON ("orders".id = "items".order_id) LEFT JOIN products AS "products" ON ("items".product_id = ("products".id)) WHERE (CAST(("products".category) AS text) = CAST($1 AS text))) AS d) AS g;

-- 32 a hidden row is as if it did not exist: its order stays, with nothing beside it
-- SELECT id, category FROM sales WHERE id = 2
-- [1, 1, 1]
SELECT g.k0 AS "id", g.k1 AS "category" FROM (SELECT ("orders".id) AS k0, CAST(("products".category) AS text) AS k1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN (CAST($1 AS bigint)))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN (CAST($2 AS bigint)))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN (CAST($3 AS bigint)))) AS "products" ON ("items".product_id = ("products".id)) WHERE (("orders".id) = 2)) AS g;

-- 33 no attribute: no rows
-- SELECT channel FROM sales
-- []
SELECT g.k0 AS "channel" FROM (SELECT CAST(("orders".channel) AS text) AS k0 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 33 nor figures
-- SELECT MEASURE(amount), MEASURE(orders_count) FROM sales
-- []
SELECT g.m0 AS "amount", g.m1 AS "orders_count" FROM (SELECT sum("orders".amount) AS m0, count(*) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 33 an attribute of another type
-- SELECT MEASURE(orders_count) FROM sales
-- []
SELECT g.m0 AS "orders_count" FROM (SELECT count(*) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 33 a list with an empty item
-- SELECT MEASURE(orders_count) FROM sales
-- []
SELECT g.m0 AS "orders_count" FROM (SELECT count(*) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 34 (a, b)
-- SELECT a, b FROM t ORDER BY a, b
-- [500]
SELECT g.k0 AS "a", g.k1 AS "b" FROM (SELECT CAST(("t".a) AS text) AS k0, CAST(("t".b) AS text) AS k1 FROM (SELECT * FROM t AS "t" WHERE (("t".id) < CAST($1 AS bigint))) AS "t") AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST, (g.k1 COLLATE "C") ASC NULLS LAST;

-- 34 (b, c)
-- SELECT b, c FROM t ORDER BY b, c
-- [500]
SELECT g.k0 AS "b", g.k1 AS "c" FROM (SELECT CAST(("t".b) AS text) AS k0, CAST(("t".c) AS text) AS k1 FROM (SELECT * FROM t AS "t" WHERE (("t".id) >= CAST($1 AS bigint))) AS "t") AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST, (g.k1 COLLATE "C") ASC NULLS LAST;

-- 34 (b)
-- SELECT b FROM t ORDER BY b
-- [500, 500]
SELECT g.k0 AS "b" FROM (SELECT CAST(("t".b) AS text) AS k0 FROM (SELECT * FROM t AS "t" WHERE ((("t".id) < CAST($1 AS bigint)) OR (("t".id) >= CAST($2 AS bigint)))) AS "t") AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 34 (a, b, c)
-- SELECT a, b, c FROM t ORDER BY a, b, c
-- []
SELECT g.k0 AS "a", g.k1 AS "b", g.k2 AS "c" FROM (SELECT CAST(("t".a) AS text) AS k0, CAST(("t".b) AS text) AS k1, CAST(("t".c) AS text) AS k2 FROM (SELECT * FROM t AS "t" WHERE FALSE) AS "t") AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST, (g.k1 COLLATE "C") ASC NULLS LAST, (g.k2 COLLATE "C") ASC NULLS LAST;

-- 35 the filters of both act: that of the cube before the join, that of the view after it
-- SELECT a, word FROM v ORDER BY a
-- [2, "hidden"]
SELECT g.k0 AS "a", g.k1 AS "word" FROM (SELECT CAST(("t".a) AS text) AS k0, CAST(("u".word) AS text) AS k1 FROM (SELECT * FROM t AS "t" WHERE (("t".id) > CAST($1 AS bigint))) AS "t" LEFT JOIN (SELECT * FROM u AS "u" WHERE (CAST(("u".word) AS text) NOT IN (CAST($2 AS text)) OR CAST(("u".word) AS text) IS NULL)) AS "u" ON ("t".id = ("u".id)) WHERE (CAST(("u".word) AS text) IS NULL)) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 35 the cube masks
-- SELECT a, b, MEASURE(rows_count) FROM v GROUP BY 1, 2 ORDER BY 1
-- [2, "hidden"]
SELECT g.k0 AS "a", g.k1 AS "b", g.m0 AS "rows_count" FROM (SELECT CAST(("t".a) AS text) AS k0, CAST(("t"."masked b") AS text) AS k1, count(*) AS m0 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t" WHERE (("t".id) > CAST($1 AS bigint))) AS "t" LEFT JOIN (SELECT * FROM u AS "u" WHERE (CAST(("u".word) AS text) NOT IN (CAST($2 AS text)) OR CAST(("u".word) AS text) IS NULL)) AS "u" ON ("t".id = ("u".id)) WHERE (CAST(("u".word) AS text) IS NULL) GROUP BY 1, 2) AS g ORDER BY (g.k0 COLLATE "C") ASC NULLS LAST;

-- 36 selected
-- SELECT id, a, b, loud FROM t WHERE id < 3 ORDER BY id
-- []
SELECT g.k0 AS "id", g.k1 AS "a", g.k2 AS "b", g.k3 AS "loud" FROM (SELECT ("t".id) AS k0, CAST(("t"."masked a") AS text) AS k1, CAST(("t"."masked b") AS text) AS k2, CAST((UPPER(("t"."masked b"))) AS text) AS k3 FROM (SELECT *, CAST('hidden' AS text) AS "masked a", CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" WHERE (("t".id) < 3)) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 36 in WHERE
-- SELECT id FROM t WHERE a = 'a1' OR b = 'b1' OR loud = 'B1'
-- ["a1", "b1", "B1"]
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0 FROM (SELECT *, CAST('hidden' AS text) AS "masked a", CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" WHERE ((CAST(("t"."masked a") AS text) = CAST($1 AS text)) OR (CAST(("t"."masked b") AS text) = CAST($2 AS text)) OR (CAST((UPPER(("t"."masked b"))) AS text) = CAST($3 AS text)))) AS g;

-- 36 in WHERE, by its mask
-- SELECT id FROM t WHERE a = 'hidden' AND b IS NULL AND id < 3 ORDER BY id
-- ["hidden"]
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0 FROM (SELECT *, CAST('hidden' AS text) AS "masked a", CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" WHERE ((CAST(("t"."masked a") AS text) = CAST($1 AS text)) AND (CAST(("t"."masked b") AS text) IS NULL) AND (("t".id) < 3))) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 36 in ORDER BY
-- SELECT id FROM t ORDER BY b DESC, a DESC, id DESC LIMIT 1
-- []
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0, CAST(("t"."masked b") AS text) AS k1, CAST(("t"."masked a") AS text) AS k2 FROM (SELECT *, CAST('hidden' AS text) AS "masked a", CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t") AS g ORDER BY (g.k1 COLLATE "C") DESC NULLS FIRST, (g.k2 COLLATE "C") DESC NULLS FIRST, g.k0 DESC NULLS FIRST LIMIT 1;

-- 36 in GROUP BY
-- SELECT a, b, MEASURE(rows_count) FROM t GROUP BY 1, 2
-- []
SELECT g.k0 AS "a", g.k1 AS "b", g.m0 AS "rows_count" FROM (SELECT CAST(("t"."masked a") AS text) AS k0, CAST(("t"."masked b") AS text) AS k1, count(*) AS m0 FROM (SELECT *, CAST('hidden' AS text) AS "masked a", CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" GROUP BY 1, 2) AS g;

-- 36 in GROUP BY alone
-- SELECT MEASURE(rows_count) FROM t GROUP BY b
-- []
SELECT g.m0 AS "rows_count" FROM (SELECT CAST(("t"."masked b") AS text) AS k0, count(*) AS m0 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" GROUP BY 1) AS g;

-- 36 in CASE
-- SELECT CASE WHEN b = 'b1' THEN 'one' ELSE 'other' END, MEASURE(rows_count) FROM t GROUP BY 1
-- ["b1", "one", "other"]
SELECT g.k0 AS "case", g.m0 AS "rows_count" FROM (SELECT (CASE WHEN (CAST(("t"."masked b") AS text) = CAST($1 AS text)) THEN CAST($2 AS text) ELSE CAST($3 AS text) END) AS k0, count(*) AS m0 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" GROUP BY 1) AS g;

-- 36 in a subquery
-- SELECT COUNT(*) FROM (SELECT id, b FROM t) AS x WHERE x.b >= 'b'
-- ["b"]
SELECT q1.a0 AS "count" FROM (SELECT count(*) AS a0 FROM (SELECT g.k0 AS c0, g.k1 AS c1 FROM (SELECT ("t".id) AS k0, CAST(("t"."masked b") AS text) AS k1 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t") AS g) AS q0 WHERE ((q0.c1 COLLATE "C") >= (CAST($1 AS text) COLLATE "C"))) AS q1;

-- 36 as a list
-- SELECT id FROM t WHERE b IN (SELECT b FROM t)
-- []
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" WHERE (CASE WHEN CAST(("t"."masked b") AS text) IS NOT NULL THEN CAST(("t"."masked b") AS text) IN (SELECT q0.c0 FROM (SELECT g.k0 AS c0 FROM (SELECT CAST(("t"."masked b") AS text) AS k0 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t") AS g) AS q0 WHERE q0.c0 IS NOT NULL) END)) AS g;

-- 36 in a window
-- SELECT id, RANK() OVER (ORDER BY b) FROM t WHERE id < 3 ORDER BY id
-- []
SELECT q0.c0 AS "id", rank() OVER (ORDER BY (q0.c1 COLLATE "C") ASC NULLS LAST) AS "rank" FROM (SELECT g.k0 AS c0, g.k1 AS c1 FROM (SELECT ("t".id) AS k0, CAST(("t"."masked b") AS text) AS k1 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t" WHERE (("t".id) < 3)) AS g) AS q0 ORDER BY q0.c0 ASC NULLS LAST;

-- 36 a measure, and one made of a masked member
-- SELECT MEASURE(ids), MEASURE(words), MEASURE(rows_count) FROM t
-- []
SELECT g.m0 AS "ids", g.m1 AS "words", g.m2 AS "rows_count" FROM (SELECT (SELECT CASE WHEN (x = 0 OR abs(x) BETWEEN 1e-150 AND 1e150) THEN CAST(x AS double precision) END FROM (SELECT 1::numeric * NULL AS x OFFSET 0) AS given) AS m0, b0.m1 AS m1, b0.m2 AS m2 FROM (SELECT count(DISTINCT ("t"."masked b")) AS m1, count(*) AS m2 FROM (SELECT *, CAST(NULL AS text) AS "masked b" FROM t AS "t") AS "t") AS b0) AS g;

-- 36 a measure in HAVING
-- SELECT id FROM t GROUP BY 1 HAVING MEASURE(ids) > 0
-- []
SELECT g.k0 AS "id" FROM (SELECT b0.k0 AS k0, (SELECT CASE WHEN (x = 0 OR abs(x) BETWEEN 1e-150 AND 1e150) THEN CAST(x AS double precision) END FROM (SELECT 1::numeric * NULL AS x OFFSET 0) AS given) AS m0 FROM (SELECT ("t".id) AS k0 FROM t AS "t" GROUP BY 1) AS b0) AS g WHERE (g.m0 > 0);
