-- 32 the filter of a cube that is only filtered by
-- SELECT MEASURE(amount) FROM sales WHERE category = 'shoes'
-- ["shoes", 1, 1, 1]
SELECT g.m0 AS "amount" FROM (SELECT sumOrNull((d.m0 * toDecimal256('1', 0))) AS m0 FROM (SELECT DISTINCT ("orders".id) AS p0, "orders".amount AS m0 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p2:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN ({p3:Int64}))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN ({p4:Int64}))) AS "products" ON ("items".product_id = ("products".id)) WHERE (toString(("products".category)) = {p1:String})) AS d) AS g;

-- 32 for who sees all rows
-- SELECT MEASURE(amount) FROM sales WHERE category = 'shoes'
-- ["shoes"]
SELECT g.m0 AS "amount" FROM (SELECT sumOrNull((d.m0 * toDecimal256('1', 0))) AS m0 FROM (SELECT DISTINCT ("orders".id) AS p0, "orders".amount AS m0 FROM orders AS "orders" LEFT JOIN items AS "items" ON ("orders".id = "items".order_id) LEFT JOIN products AS "products" ON ("items".product_id = ("products".id)) WHERE (toString(("products".category)) = {p1:String})) AS d) AS g;

-- 32 a hidden row is as if it did not exist: its order stays, with nothing beside it
-- SELECT id, category FROM sales WHERE id = 2
-- [1, 1, 1]
SELECT g.k0 AS "id", g.k1 AS "category" FROM (SELECT ("orders".id) AS k0, toString(("products".category)) AS k1 FROM (SELECT * FROM orders AS "orders" WHERE (("orders".owner) IN ({p1:Int64}))) AS "orders" LEFT JOIN (SELECT * FROM items AS "items" WHERE (("items".owner) IN ({p2:Int64}))) AS "items" ON ("orders".id = "items".order_id) LEFT JOIN (SELECT * FROM products AS "products" WHERE (("products".owner) IN ({p3:Int64}))) AS "products" ON ("items".product_id = ("products".id)) WHERE (("orders".id) = 2)) AS g;

-- 33 no attribute: no rows
-- SELECT channel FROM sales
-- []
SELECT g.k0 AS "channel" FROM (SELECT toString(("orders".channel)) AS k0 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 33 nor figures
-- SELECT MEASURE(amount), MEASURE(orders_count) FROM sales
-- []
SELECT g.m0 AS "amount", g.m1 AS "orders_count" FROM (SELECT sumOrNull(("orders".amount * toDecimal256('1', 0))) AS m0, toInt64(count()) AS m1 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 33 an attribute of another type
-- SELECT MEASURE(orders_count) FROM sales
-- []
SELECT g.m0 AS "orders_count" FROM (SELECT toInt64(count()) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 33 a list with an empty item
-- SELECT MEASURE(orders_count) FROM sales
-- []
SELECT g.m0 AS "orders_count" FROM (SELECT toInt64(count()) AS m0 FROM (SELECT * FROM orders AS "orders" WHERE FALSE) AS "orders") AS g;

-- 34 (a, b)
-- SELECT a, b FROM t ORDER BY a, b
-- [500]
SELECT g.k0 AS "a", g.k1 AS "b" FROM (SELECT toString(("t".a)) AS k0, toString(("t".b)) AS k1 FROM (SELECT * FROM t AS "t" WHERE (("t".id) < {p1:Int64})) AS "t") AS g ORDER BY g.k0 ASC NULLS LAST, g.k1 ASC NULLS LAST;

-- 34 (b, c)
-- SELECT b, c FROM t ORDER BY b, c
-- [500]
SELECT g.k0 AS "b", g.k1 AS "c" FROM (SELECT toString(("t".b)) AS k0, toString(("t".c)) AS k1 FROM (SELECT * FROM t AS "t" WHERE (("t".id) >= {p1:Int64})) AS "t") AS g ORDER BY g.k0 ASC NULLS LAST, g.k1 ASC NULLS LAST;

-- 34 (b)
-- SELECT b FROM t ORDER BY b
-- [500, 500]
SELECT g.k0 AS "b" FROM (SELECT toString(("t".b)) AS k0 FROM (SELECT * FROM t AS "t" WHERE ((("t".id) < {p1:Int64}) OR (("t".id) >= {p2:Int64}))) AS "t") AS g ORDER BY g.k0 ASC NULLS LAST;

-- 34 (a, b, c)
-- SELECT a, b, c FROM t ORDER BY a, b, c
-- []
SELECT g.k0 AS "a", g.k1 AS "b", g.k2 AS "c" FROM (SELECT toString(("t".a)) AS k0, toString(("t".b)) AS k1, toString(("t".c)) AS k2 FROM (SELECT * FROM t AS "t" WHERE FALSE) AS "t") AS g ORDER BY g.k0 ASC NULLS LAST, g.k1 ASC NULLS LAST, g.k2 ASC NULLS LAST;

-- 35 the filters of both act: that of the cube before the join, that of the view after it
-- SELECT a, word FROM v ORDER BY a
-- [2, "hidden"]
SELECT g.k0 AS "a", g.k1 AS "word" FROM (SELECT toString(("t".a)) AS k0, toString(("u".word)) AS k1 FROM (SELECT * FROM t AS "t" WHERE (("t".id) > {p1:Int64})) AS "t" LEFT JOIN (SELECT * FROM u AS "u" WHERE (toString(("u".word)) NOT IN ({p2:String}) OR toString(("u".word)) IS NULL)) AS "u" ON ("t".id = ("u".id)) WHERE (toString(("u".word)) IS NULL)) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 35 the cube masks
-- SELECT a, b, MEASURE(rows_count) FROM v GROUP BY 1, 2 ORDER BY 1
-- [2, "hidden"]
SELECT g.k0 AS "a", g.k1 AS "b", g.m0 AS "rows_count" FROM (SELECT toString(("t".a)) AS k0, toString(("t"."masked b")) AS k1, toInt64(count()) AS m0 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t" WHERE (("t".id) > {p1:Int64})) AS "t" LEFT JOIN (SELECT * FROM u AS "u" WHERE (toString(("u".word)) NOT IN ({p2:String}) OR toString(("u".word)) IS NULL)) AS "u" ON ("t".id = ("u".id)) WHERE (toString(("u".word)) IS NULL) GROUP BY 1, 2) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 36 selected
-- SELECT id, a, b, loud FROM t WHERE id < 3 ORDER BY id
-- []
SELECT g.k0 AS "id", g.k1 AS "a", g.k2 AS "b", g.k3 AS "loud" FROM (SELECT ("t".id) AS k0, toString(("t"."masked a")) AS k1, toString(("t"."masked b")) AS k2, toString((UPPER(("t"."masked b")))) AS k3 FROM (SELECT *, toString('hidden') AS "masked a", toString(NULL) AS "masked b" FROM t AS "t") AS "t" WHERE (("t".id) < 3)) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 36 in WHERE
-- SELECT id FROM t WHERE a = 'a1' OR b = 'b1' OR loud = 'B1'
-- ["a1", "b1", "B1"]
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0 FROM (SELECT *, toString('hidden') AS "masked a", toString(NULL) AS "masked b" FROM t AS "t") AS "t" WHERE ((toString(("t"."masked a")) = {p1:String}) OR (toString(("t"."masked b")) = {p2:String}) OR (toString((UPPER(("t"."masked b")))) = {p3:String}))) AS g;

-- 36 in WHERE, by its mask
-- SELECT id FROM t WHERE a = 'hidden' AND b IS NULL AND id < 3 ORDER BY id
-- ["hidden"]
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0 FROM (SELECT *, toString('hidden') AS "masked a", toString(NULL) AS "masked b" FROM t AS "t") AS "t" WHERE ((toString(("t"."masked a")) = {p1:String}) AND (toString(("t"."masked b")) IS NULL) AND (("t".id) < 3))) AS g ORDER BY g.k0 ASC NULLS LAST;

-- 36 in ORDER BY
-- SELECT id FROM t ORDER BY b DESC, a DESC, id DESC LIMIT 1
-- []
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0, toString(("t"."masked b")) AS k1, toString(("t"."masked a")) AS k2 FROM (SELECT *, toString('hidden') AS "masked a", toString(NULL) AS "masked b" FROM t AS "t") AS "t") AS g ORDER BY g.k1 DESC NULLS FIRST, g.k2 DESC NULLS FIRST, g.k0 DESC NULLS FIRST LIMIT 1;

-- 36 in GROUP BY
-- SELECT a, b, MEASURE(rows_count) FROM t GROUP BY 1, 2
-- []
SELECT g.k0 AS "a", g.k1 AS "b", g.m0 AS "rows_count" FROM (SELECT toString(("t"."masked a")) AS k0, toString(("t"."masked b")) AS k1, toInt64(count()) AS m0 FROM (SELECT *, toString('hidden') AS "masked a", toString(NULL) AS "masked b" FROM t AS "t") AS "t" GROUP BY 1, 2) AS g;

-- 36 in GROUP BY alone
-- SELECT MEASURE(rows_count) FROM t GROUP BY b
-- []
SELECT g.m0 AS "rows_count" FROM (SELECT toString(("t"."masked b")) AS k0, toInt64(count()) AS m0 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t" GROUP BY 1) AS g;

-- 36 in CASE
-- SELECT CASE WHEN b = 'b1' THEN 'one' ELSE 'other' END, MEASURE(rows_count) FROM t GROUP BY 1
-- ["b1", "one", "other"]
SELECT g.k0 AS "case", g.m0 AS "rows_count" FROM (SELECT (CASE WHEN (toString(("t"."masked b")) = {p1:String}) THEN {p2:String} ELSE {p3:String} END) AS k0, toInt64(count()) AS m0 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t" GROUP BY 1) AS g;

-- 36 in a subquery
-- SELECT COUNT(*) FROM (SELECT id, b FROM t) AS x WHERE x.b >= 'b'
-- ["b"]
SELECT q1.a0 AS "count" FROM (SELECT toInt64(count()) AS a0 FROM (SELECT g.k0 AS c0, g.k1 AS c1 FROM (SELECT ("t".id) AS k0, toString(("t"."masked b")) AS k1 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t") AS g) AS q0 WHERE (q0.c1 >= {p1:String})) AS q1;

-- 36 as a list
-- SELECT id FROM t WHERE b IN (SELECT b FROM t)
-- []
SELECT g.k0 AS "id" FROM (SELECT ("t".id) AS k0 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t" WHERE (CASE WHEN toString(("t"."masked b")) IS NOT NULL THEN toString(("t"."masked b")) IN (SELECT q0.c0 FROM (SELECT g.k0 AS c0 FROM (SELECT toString(("t"."masked b")) AS k0 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t") AS g) AS q0 WHERE q0.c0 IS NOT NULL) END)) AS g;

-- 36 in a window
-- SELECT id, RANK() OVER (ORDER BY b) FROM t WHERE id < 3 ORDER BY id
-- []
SELECT q0.c0 AS "id", toInt64(rank() OVER (ORDER BY q0.c1 ASC NULLS LAST)) AS "rank" FROM (SELECT g.k0 AS c0, g.k1 AS c1 FROM (SELECT ("t".id) AS k0, toString(("t"."masked b")) AS k1 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t" WHERE (("t".id) < 3)) AS g) AS q0 ORDER BY q0.c0 ASC NULLS LAST;

-- 36 a measure, and one made of a masked member
-- SELECT MEASURE(ids), MEASURE(words), MEASURE(rows_count) FROM t
-- []
SELECT g.m0 AS "ids", g.m1 AS "words", g.m2 AS "rows_count" FROM (SELECT toFloat64(NULL) AS m0, b0.m1 AS m1, b0.m2 AS m2 FROM (SELECT toInt64(uniqExact(("t"."masked b"))) AS m1, toInt64(count()) AS m2 FROM (SELECT *, toString(NULL) AS "masked b" FROM t AS "t") AS "t") AS b0) AS g;

-- 36 a measure in HAVING
-- SELECT id FROM t GROUP BY 1 HAVING MEASURE(ids) > 0
-- []
SELECT g.k0 AS "id" FROM (SELECT b0.k0 AS k0, toFloat64(NULL) AS m0 FROM (SELECT ("t".id) AS k0 FROM t AS "t" GROUP BY 1) AS b0) AS g WHERE (g.m0 > 0);
