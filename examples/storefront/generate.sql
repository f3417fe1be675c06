-- Demo data of the storefront example: a shop platform with 40 merchants, four years of orders.
--
-- How it is run: the server replaces the folder placeholder in the COPY statements at the end with an
-- absolute path and runs this script on an empty in-memory DuckDB.
--
-- The data is the same on every machine and with every number of threads. Nothing here calls random() or
-- reads the clock. All chance comes from hash() over integer keys (macro rnd below), all arithmetic that
-- decides something is integer arithmetic, every window is ordered by a unique key, and every COPY is
-- ordered by the primary key. DuckDB may change its hash() between versions, so another version of DuckDB
-- may give other (equally plausible) data.
--
-- House rules of the data:
--   * an order, its lines, its customer, its products, its refunds and its shipment all belong to one merchant
--   * a cancelled order was never charged: it has no lines, no shipping fee, no refund, no shipment
--   * orders of the channel store are handed over the counter and have no shipment
--   * what one order gets back in refunds is never more than the sum of its lines
--   * the data ends with 2025-12-31: what would be shipped, delivered or refunded later has not happened yet
--
-- Note for editors: no semicolons inside comments or texts, so that the script can be split at semicolons.

-- A whole number from 0 to n - 1 that depends only on the key and on the salt. The cast of n keeps the remainder in
-- 64 bits: without it DuckDB computes in 128 bits, and the whole script takes twice as long.
CREATE OR REPLACE TEMP MACRO rnd(k, salt, n) AS CAST(hash(CAST(k AS BIGINT) * 128 + salt) % CAST(n AS UBIGINT) AS INTEGER);

-- One of the texts or numbers in a list.
CREATE OR REPLACE TEMP MACRO pick(k, salt, items) AS items[1 + rnd(k, salt, len(items))];

-- One of the digits in a text, as a number. Quicker than a list where there are many rows.
CREATE OR REPLACE TEMP MACRO digit(k, salt, digits) AS ascii(substr(digits, 1 + rnd(k, salt, length(digits)), 1)) - 48;

-- Whole cents to money.
CREATE OR REPLACE TEMP MACRO money(cents) AS CAST(CAST(cents AS BIGINT) * CAST(0.01 AS DECIMAL(3, 2)) AS DECIMAL(12, 2));

-- The customer segment follows from the id alone, so that order lines can use it without a join.
CREATE OR REPLACE TEMP MACRO segment_of(customer_id) AS
  CASE WHEN rnd(customer_id, 11, 100) < 62 THEN 'household'
       WHEN rnd(customer_id, 11, 100) < 80 THEN 'business'
       WHEN rnd(customer_id, 11, 100) < 92 THEN 'student'
       ELSE 'vip' END;

-- ---------------------------------------------------------------------------------------------------------
-- Word lists and small tables of settings
-- ---------------------------------------------------------------------------------------------------------

CREATE OR REPLACE TEMP TABLE seed_countries AS
SELECT * FROM (VALUES
  (1,  'Germany',        'Central Europe',  ['Hamburg', 'Munich', 'Leipzig', 'Cologne', 'Stuttgart', 'Bremen']),
  (2,  'Austria',        'Central Europe',  ['Vienna', 'Graz', 'Linz', 'Salzburg']),
  (3,  'Switzerland',    'Central Europe',  ['Zurich', 'Basel', 'Bern', 'Lausanne']),
  (4,  'Poland',         'Central Europe',  ['Warsaw', 'Krakow', 'Gdansk', 'Poznan', 'Wroclaw']),
  (5,  'Czechia',        'Central Europe',  ['Prague', 'Brno', 'Ostrava', 'Plzen']),
  (6,  'Netherlands',    'Western Europe',  ['Amsterdam', 'Rotterdam', 'Utrecht', 'Eindhoven']),
  (7,  'Belgium',        'Western Europe',  ['Antwerp', 'Ghent', 'Bruges', 'Liege']),
  (8,  'France',         'Western Europe',  ['Paris', 'Lyon', 'Nantes', 'Lille', 'Toulouse', 'Bordeaux']),
  (9,  'Sweden',         'Nordics',         ['Stockholm', 'Gothenburg', 'Malmo', 'Uppsala']),
  (10, 'Norway',         'Nordics',         ['Oslo', 'Bergen', 'Trondheim', 'Stavanger']),
  (11, 'Denmark',        'Nordics',         ['Copenhagen', 'Aarhus', 'Odense', 'Aalborg']),
  (12, 'Finland',        'Nordics',         ['Helsinki', 'Tampere', 'Turku', 'Oulu']),
  (13, 'United Kingdom', 'British Isles',   ['London', 'Manchester', 'Leeds', 'Bristol', 'Glasgow', 'Cardiff']),
  (14, 'Ireland',        'British Isles',   ['Dublin', 'Galway', 'Limerick', 'Waterford']),
  (15, 'Spain',          'Southern Europe', ['Madrid', 'Barcelona', 'Valencia', 'Seville', 'Bilbao']),
  (16, 'Italy',          'Southern Europe', ['Rome', 'Milan', 'Turin', 'Bologna', 'Naples']),
  (17, 'Portugal',       'Southern Europe', ['Lisbon', 'Porto', 'Braga', 'Coimbra'])
) AS t(country_no, country, region, cities);

-- season: the demand on the first day of each month, in per cent of an average day (in between: a straight line).
-- low, high: range of list prices in cents. cost_pct: cost of goods in per cent of the list price.
CREATE OR REPLACE TEMP TABLE seed_categories AS
SELECT * FROM (VALUES
  (1,  'Clothing',     1500,  14000, 44, [ 92,  80,  96, 108, 106,  98,  92,  88, 108, 112, 116, 132], ['Veldoran', 'Quillmark', 'Osterby', 'Linnwick'],
       ['Linen Shirt', 'Wool Jumper', 'Rain Jacket', 'Denim Trousers', 'Cotton Dress', 'Knit Scarf', 'Quilted Vest', 'Jersey Top', 'Corduroy Skirt', 'Flannel Pyjamas']),
  (2,  'Footwear',     3500,  19000, 48, [104,  90, 100, 112, 110, 104,  92,  94, 116, 104, 102, 112], ['Trampolo', 'Solvane', 'Hikarra', 'Stridewell'],
       ['Trail Runner', 'Leather Boot', 'Canvas Trainer', 'Felt Slipper', 'Suede Loafer', 'Cork Sandal', 'Ankle Boot', 'Court Shoe', 'Rubber Wellington', 'Walking Shoe']),
  (3,  'Jewellery',    2500,  42000, 38, [ 80, 106,  88,  90,  98,  88,  80,  82,  90, 100, 130, 196], ['Aurelise', 'Mirrastone', 'Ondelle', 'Castavel'],
       ['Silver Pendant', 'Pearl Earrings', 'Signet Ring', 'Charm Bracelet', 'Amber Brooch', 'Gold Chain', 'Moonstone Ring', 'Beaded Anklet', 'Enamel Locket', 'Hoop Earrings']),
  (4,  'Beauty',        600,   8500, 34, [ 88,  98,  94,  96, 102,  98,  92,  90,  94, 100, 126, 168], ['Florenza', 'Purellis', 'Sanomere', 'Dewberra'],
       ['Face Cream', 'Hand Balm', 'Shower Oil', 'Lip Tint', 'Clay Mask', 'Rose Serum', 'Shampoo Bar', 'Night Lotion', 'Bath Salts', 'Eye Gel']),
  (5,  'Lighting',     1900,  26000, 46, [112, 104,  94,  86,  80,  76,  76,  84, 104, 122, 136, 132], ['Lumeno', 'Glimmerik', 'Candelux', 'Wattsby'],
       ['Desk Lamp', 'Pendant Light', 'Floor Lamp', 'Wall Sconce', 'Lantern', 'String Lights', 'Table Lamp', 'Ceiling Spot', 'Reading Light', 'Night Light']),
  (6,  'Kitchenware',   900,  16000, 45, [ 92,  88,  92,  94,  96,  94,  90,  90,  98, 106, 130, 150], ['Ironhearth', 'Bakewise', 'Skillo', 'Cuccina Nord'],
       ['Cast Iron Pan', 'Chef Knife', 'Mixing Bowl', 'Stockpot', 'Bread Tin', 'Espresso Pot', 'Chopping Board', 'Pepper Mill', 'Casserole Dish', 'Whisk Set']),
  (7,  'Furniture',    7900,  69000, 56, [116, 104, 100,  98,  94,  90,  88,  94, 106, 108, 112, 106], ['Holmgard', 'Settlewood', 'Ravnborg', 'Joinery Nine'],
       ['Oak Side Table', 'Armchair', 'Bookcase', 'Dining Chair', 'Coffee Table', 'Bed Frame', 'Chest of Drawers', 'Bar Stool', 'Writing Desk', 'Shoe Cabinet']),
  (8,  'Garden',       1200,  24000, 47, [ 46,  58, 110, 170, 186, 162, 130, 104,  90,  72,  62,  50], ['Greenhollow', 'Terravita', 'Spadefoot', 'Mossgrove'],
       ['Watering Can', 'Pruning Shears', 'Raised Bed', 'Herb Planter', 'Garden Bench', 'Bird Feeder', 'Compost Bin', 'Trellis', 'Fire Bowl', 'Parasol']),
  (9,  'Toys',          800,  12000, 43, [ 72,  74,  82,  92,  92,  90,  86,  80,  88, 108, 158, 232], ['Pippolino', 'Tumbleton', 'Zoomarix', 'Krokobo'],
       ['Building Blocks', 'Wooden Train', 'Plush Bear', 'Puzzle Box', 'Kite', 'Marble Run', 'Doll House', 'Stacking Rings', 'Science Kit', 'Card Game']),
  (10, 'Books',         700,   4500, 58, [ 96,  88,  90,  90,  90,  92,  96,  94,  98, 108, 128, 180], ['Foxglove Press', 'Paperlight', 'Nine Inks', 'Harbour Folio'],
       ['Cookery Book', 'Travel Guide', 'Crime Novel', 'Picture Book', 'Atlas', 'Poetry Reader', 'History Primer', 'Sketchbook', 'Nature Almanac', 'Short Stories']),
  (11, 'Electronics',  1900,  54000, 64, [ 94,  84,  86,  86,  88,  88,  86,  90,  98, 104, 150, 172], ['Voltane', 'Nexorby', 'Pixelhaus', 'Auralit'],
       ['Headphones', 'Portable Speaker', 'Power Bank', 'Action Camera', 'Keyboard', 'Smart Watch', 'Webcam', 'Charging Dock', 'E-Reader', 'Drone']),
  (12, 'Sports',       1200,  28000, 50, [134, 108, 108, 112, 114, 110,  98,  98, 106,  90,  94, 104], ['Summitra', 'Paceline', 'Aquavolo', 'Gripton'],
       ['Yoga Mat', 'Dumbbell Pair', 'Trekking Poles', 'Swim Goggles', 'Cycling Jersey', 'Climbing Rope', 'Camping Stove', 'Tennis Racket', 'Daypack', 'Foam Roller']),
  (13, 'Pet Supplies',  500,   9500, 52, [ 98,  96,  98, 100, 100,  98,  96,  96, 100, 102, 108, 122], ['Whiskerly', 'Barkson', 'Pawtera', 'Finnandfur'],
       ['Dog Lead', 'Cat Tree', 'Chew Toy', 'Pet Blanket', 'Feeding Bowl', 'Scratching Post', 'Bird Seed', 'Travel Crate', 'Grooming Brush', 'Catnip Mouse']),
  (14, 'Groceries',     300,   3900, 60, [ 98,  96,  98, 102, 100,  98,  94,  92, 100, 102, 106, 134], ['Garnmill', 'Olivara', 'Bergkorn', 'Honeyfield'],
       ['Ground Coffee', 'Green Tea', 'Olive Oil', 'Rye Crackers', 'Wild Honey', 'Dark Chocolate', 'Fig Jam', 'Sea Salt', 'Spelt Pasta', 'Almond Butter'])
) AS t(category_no, category, low, high, cost_pct, season, brands, nouns);

CREATE OR REPLACE TEMP TABLE seed_series AS
SELECT ['Tidewater', 'Marlow', 'Aspen', 'Kestrel', 'Juniper', 'Halden', 'Solstice', 'Brindle', 'Cobalt', 'Fjord',
        'Saffron', 'Wren', 'Orchard', 'Pebble', 'Willow', 'Ember', 'Nimbus', 'Hazel', 'Dune', 'Lark',
        'Sorrel', 'Flint', 'Clover', 'Harvest', 'Indigo', 'Tundra', 'Maple', 'Sparrow', 'Coral', 'Heather',
        'Basalt', 'Linden', 'Meadow', 'Otter', 'Quartz', 'Bramble'] AS words;

-- size: share of the orders. c1, c2, c3: the categories it sells, the first one most.
-- web, app, market, shop, social: channel mix in per cent. growth: per mille of its 2022 size that each year adds.
-- week: 1 = busiest at the weekend, 2 = busiest on working days. care: refunds per 10,000 orders on top of the usual.
CREATE OR REPLACE TEMP TABLE seed_merchants AS
SELECT * FROM (VALUES
  (1,  'Alder and Finch',     1,  'premium',      DATE '2019-03-11', 820,  7,  5,  6, 52, 16, 20, 12,  0,  210, 1,  40),
  (2,  'Copper Lantern',      13, 'professional', DATE '2020-06-02', 310,  5,  7,  8, 58, 18, 14,  4,  6,  260, 1,  20),
  (3,  'Bluebell Row',        13, 'premium',      DATE '2019-09-23', 690,  1,  2,  3, 44, 30,  8, 10,  8,  240, 1, 150),
  (4,  'Nordlys Trail',       10, 'professional', DATE '2020-01-15', 360, 12,  2,  1, 50, 22, 16, 12,  0,  180, 1,  70),
  (5,  'Casa Verano',         15, 'professional', DATE '2020-11-30', 280,  8,  7,  5, 55, 15, 25,  5,  0,  150, 1,  50),
  (6,  'Papillon Papier',     8,  'starter',      DATE '2021-02-08', 150, 10,  9,  3, 60, 12, 20,  8,  0,  -40, 1,   0),
  (7,  'Harbour and Thread',  6,  'premium',      DATE '2019-05-20', 540,  1,  2,  4, 46, 28, 12,  6,  8,  230, 1, 110),
  (8,  'Rowan and Spade',     13, 'professional', DATE '2020-03-17', 330,  8, 13,  5, 62, 12, 18,  8,  0,  120, 1,  10),
  (9,  'Kaffehuset Nord',     11, 'professional', DATE '2020-08-04', 260, 14,  6, 10, 48, 24, 10, 18,  0,  200, 2,   0),
  (10, 'Brightwire',          1,  'premium',      DATE '2019-01-28', 950, 11,  5,  9, 40, 22, 32,  6,  0,  280, 2,  60),
  (11, 'Little Comet',        9,  'professional', DATE '2020-05-12', 300,  9, 10,  1, 50, 26, 14,  4,  6,  220, 1,  30),
  (12, 'Isola Lucente',       16, 'professional', DATE '2021-01-19', 250,  4,  3,  1, 40, 30,  8,  6, 16,  340, 1,  40),
  (13, 'Fenwood Tails',       14, 'starter',      DATE '2021-04-26', 170, 13,  8,  9, 56, 24, 16,  4,  0,  260, 2,   0),
  (14, 'Maison Tilleul',      8,  'premium',      DATE '2019-10-07', 480,  6,  7, 14, 54, 16, 16, 14,  0,  160, 1,  20),
  (15, 'Gratweg Alpin',       3,  'professional', DATE '2020-02-24', 290, 12,  2, 11, 58, 20, 12, 10,  0,  190, 1,  60),
  (16, 'Bernstein Atelier',   4,  'starter',      DATE '2021-06-14', 110,  3,  1,  4, 50, 18, 16,  4, 12,  300, 1,  30),
  (17, 'Polder Pages',        6,  'starter',      DATE '2020-09-21',  90, 10,  9, 14, 66, 10, 14, 10,  0,  -60, 2,   0),
  (18, 'Solar Figtree',       17, 'starter',      DATE '2022-03-07', 160, 14,  6,  4, 52, 22, 18,  2,  6,  420, 2,   0),
  (19, 'Wick and Ember',      14, 'starter',      DATE '2021-08-30', 120,  5,  4,  6, 54, 16, 16,  4, 10,  250, 1,  10),
  (20, 'Tinplate Lane',       13, 'premium',      DATE '2019-07-15', 430,  9, 11, 10, 46, 22, 26,  6,  0,  140, 1,  40),
  (21, 'Sankt Erik Skor',     9,  'professional', DATE '2020-04-06', 340,  2,  1, 12, 48, 26, 14, 12,  0,  170, 1, 160),
  (22, 'Verde Piazza',        16, 'professional', DATE '2020-10-26', 240,  8, 14, 13, 58, 14, 20,  8,  0,  130, 1,   0),
  (23, 'Moorland Outdoor',    13, 'professional', DATE '2021-03-01', 270, 12,  8,  2, 54, 22, 16,  8,  0,  230, 1,  50),
  (24, 'Studio Halvard',      10, 'starter',      DATE '2022-08-22', 180,  7,  5,  1, 62, 14, 14,  6,  4,  480, 1,  30),
  (25, 'Gold Plover',         12, 'starter',      DATE '2021-05-10', 100,  3,  4,  5, 48, 20, 14,  4, 14,  210, 1,  20),
  (26, 'Pixel Bazaar',        5,  'professional', DATE '2020-12-14', 380, 11,  9, 12, 34, 20, 44,  2,  0,  310, 2,  90),
  (27, 'Atlas Pantry',        7,  'professional', DATE '2021-07-05', 220, 14,  6, 13, 46, 32, 12, 10,  0,  320, 2,   0),
  (28, 'Lindgren Loom',       9,  'starter',      DATE '2023-01-16', 190,  1,  3,  4, 44, 32,  8,  4, 12,  520, 1, 120),
  (29, 'Danube Living',       2,  'professional', DATE '2020-07-13', 260,  7,  6,  5, 58, 14, 18, 10,  0,   90, 1,  20),
  (30, 'Spaniel and Sons',    13, 'starter',      DATE '2021-09-27', 140, 13, 12,  8, 54, 26, 16,  4,  0,  240, 2,   0),
  (31, 'Cala Azul',           15, 'starter',      DATE '2022-05-30', 150,  4,  1,  2, 38, 34, 10,  4, 14,  390, 1,  60),
  (32, 'Tanner''s Yard',      13, 'professional', DATE '2020-02-03', 230,  2,  1,  3, 52, 18, 12, 18,  0,   60, 1, 100),
  (33, 'Brno Bright',         5,  'starter',      DATE '2023-06-12', 130,  5, 11,  7, 48, 20, 28,  4,  0,  560, 2,  20),
  (34, 'Hafen Kontor',        1,  'premium',      DATE '2019-11-18', 460, 14,  6, 10, 50, 26, 14, 10,  0,  180, 2,   0),
  (35, 'Petit Pinson',        7,  'starter',      DATE '2021-10-11', 130,  9,  1, 10, 52, 24, 14,  4,  6,  200, 1,  20),
  (36, 'Alpenkraft',          2,  'professional', DATE '2020-05-25', 250, 12, 14,  4, 56, 20, 12, 12,  0,  150, 1,  30),
  (37, 'Signal Nine',         4,  'professional', DATE '2022-01-24', 320, 11,  5,  6, 36, 26, 34,  4,  0,  450, 2,  80),
  (38, 'Azulejo House',       17, 'starter',      DATE '2021-11-02',  80,  6,  5,  7, 60, 12, 18, 10,  0,  110, 1,  10),
  (39, 'Frosted Fern',        12, 'starter',      DATE '2023-09-18', 140,  8,  5,  6, 52, 26, 12,  4,  6,  600, 1,   0),
  (40, 'Quill Street',        14, 'starter',      DATE '2021-03-22',  60, 10,  3,  9, 64, 14, 14,  8,  0,   30, 2,   0)
) AS t(merchant_id, name, country_no, plan_tier, joined_on, size, c1, c2, c3, web, app, market, shop, social, growth, week, care);

-- The first 150 customers of a merchant come before its first day of trade, the others at an even pace after it.
CREATE OR REPLACE TEMP TABLE plan_merchants AS
SELECT m.*, c.country, c.region, greatest(m.joined_on + 30, DATE '2022-01-01') AS opens_on,
       DATE '2025-12-31' - greatest(m.joined_on + 30, DATE '2022-01-01') AS open_days,
       greatest(m.joined_on + 30, DATE '2022-01-01') - m.joined_on AS quiet_days,
       290 + 50 * rnd(m.merchant_id, 1, 9) AS fee_cents
FROM seed_merchants m JOIN seed_countries c USING (country_no);

-- Promotions: the weeks in which they run, and how much more is ordered then (in per cent of a usual day).
-- The last one is the time before Christmas: more orders, but no code and no discount.
CREATE OR REPLACE TEMP TABLE seed_promotions AS
SELECT * FROM (VALUES
  (1, 'WINTER20',    20,  102,  115, 122),
  (2, 'SPRING10',    10,  320,  402, 114),
  (3, 'SUMMER15',    15,  701,  721, 138),
  (4, 'BLACKWEEK25', 25, 1120, 1130, 195),
  (5, NULL,           0, 1201, 1220, 122)
) AS t(promotion_no, code, pct, first_mmdd, last_mmdd, lift);

-- ---------------------------------------------------------------------------------------------------------
-- Merchants, customers, products
-- ---------------------------------------------------------------------------------------------------------

CREATE OR REPLACE TEMP TABLE out_merchants AS
SELECT CAST(merchant_id AS BIGINT) AS id, name, region, country, plan_tier, CAST(joined_on AS TIMESTAMP) AS joined_at
FROM plan_merchants;

-- Names are a given name with a made-up family name. No pair is used twice: 7919 is coprime to 64 * 24 * 16.
CREATE OR REPLACE TEMP TABLE out_customers AS
WITH words AS (
  SELECT ['Ada', 'Bram', 'Carla', 'Dario', 'Edda', 'Fabian', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Katja', 'Leon',
          'Maren', 'Nils', 'Oona', 'Piet', 'Rhea', 'Stellan', 'Tilda', 'Urs', 'Vera', 'Wim', 'Yara', 'Zeno',
          'Amira', 'Basil', 'Chiara', 'Dunja', 'Elio', 'Freya', 'Goran', 'Hanna', 'Ivo', 'Jolanda', 'Kasper', 'Lucia',
          'Mateo', 'Nadia', 'Otis', 'Paula', 'Quentin', 'Rosa', 'Silas', 'Thea', 'Ugo', 'Viola', 'Wanda', 'Xenia',
          'Alma', 'Benno', 'Celia', 'Dion', 'Esme', 'Flora', 'Gustav', 'Helmi', 'Iris', 'Joost', 'Kaisa', 'Lorenz',
          'Mira', 'Noor', 'Orla', 'Pavel'] AS given,
         ['Ash', 'Birch', 'Cold', 'Dun', 'Elder', 'Fair', 'Glen', 'Hawk', 'Iron', 'Kirk', 'Lang', 'Mill',
          'North', 'Oak', 'Penn', 'Quarry', 'Raven', 'Silver', 'Thorn', 'Under', 'Vale', 'Wester', 'Winter', 'Yarrow'] AS front,
         ['brook', 'combe', 'dale', 'field', 'gate', 'holm', 'land', 'mere', 'rick', 'shaw',
          'stead', 'strand', 'ton', 'wald', 'well', 'wood'] AS back
), base AS (
  SELECT CAST(m.merchant_id - 1 AS BIGINT) * 500 + j.j + 1 AS id, m.merchant_id, m.country_no, j.j,
         CASE WHEN j.j < 150 THEN m.joined_on + CAST(j.j * (m.quiet_days - 1) // 150 AS INTEGER)
              ELSE m.opens_on + CAST(((j.j - 149) * m.open_days + 349) // 350 AS INTEGER) END AS created_on
  FROM plan_merchants m CROSS JOIN (SELECT CAST(range AS INTEGER) AS j FROM range(500)) j
), named AS (
  SELECT b.*, (b.id * 7919) % 24576 AS n,
         CASE WHEN rnd(b.id, 12, 100) < 82 THEN b.country_no ELSE 1 + rnd(b.id, 13, 17) END AS lives_in
  FROM base b
)
SELECT n.id, CAST(n.merchant_id AS BIGINT) AS merchant_id,
       w.given[1 + n.n % 64] || ' ' || w.front[1 + (n.n // 64) % 24] || w.back[1 + n.n // 1536] AS name,
       lower(w.given[1 + n.n % 64] || '.' || w.front[1 + (n.n // 64) % 24] || w.back[1 + n.n // 1536])
         || n.id || '@example.com' AS email,
       pick(n.id, 14, c.cities) AS city, c.country, segment_of(n.id) AS segment,
       CAST(n.created_on AS TIMESTAMP) + to_seconds(21600 + rnd(n.id, 15, 61200)) AS created_at
FROM named n CROSS JOIN words w JOIN seed_countries c ON c.country_no = n.lives_in;

-- 30 products for each merchant: 15 of its first category, 9 of its second, 6 of its third, mixed by popularity.
-- Within a category no name is used twice. List prices end in 9 cents.
CREATE OR REPLACE TEMP TABLE plan_products AS
WITH base AS (
  SELECT CAST(m.merchant_id - 1 AS BIGINT) * 30 + j.j + 1 AS id, m.merchant_id,
         CASE WHEN j.j % 2 = 0 THEN m.c1 WHEN j.j % 10 IN (1, 5, 7) THEN m.c2 ELSE m.c3 END AS category_no
  FROM plan_merchants m CROSS JOIN (SELECT CAST(range AS INTEGER) AS j FROM range(30)) j
), numbered AS (
  SELECT b.*, CAST(row_number() OVER (PARTITION BY category_no ORDER BY b.id) - 1 AS INTEGER) AS n FROM base b
), priced AS (
  SELECT n.*, c.category, c.brands, c.nouns, c.cost_pct,
         -- the smaller of two draws: more cheap products than dear ones
         (c.low + (c.high - c.low) * least(rnd(n.id, 20, 1000), rnd(n.id, 21, 1000)) // 1000) // 10 * 10 + 9 AS list_cents
  FROM numbered n JOIN seed_categories c USING (category_no)
)
SELECT p.id, p.merchant_id, p.category_no, p.category, pick(p.id, 22, p.brands) AS brand,
       s.words[1 + (p.n // 10 + (p.n % 10) * 5 + p.category_no * 3) % 36] || ' ' || p.nouns[1 + p.n % 10] AS name,
       p.list_cents, p.list_cents * (p.cost_pct - 6 + rnd(p.id, 23, 13)) // 100 AS cost_cents
FROM priced p CROSS JOIN seed_series s;

-- ---------------------------------------------------------------------------------------------------------
-- Orders
-- ---------------------------------------------------------------------------------------------------------

-- The weight of every merchant on every day: size, growth, season, weekday, promotion and a little noise.
-- The 250,000 orders are then handed out in exact proportion, by differences of a running total.
CREATE OR REPLACE TEMP TABLE plan_days AS
WITH calendar AS (
  SELECT CAST(range AS DATE) AS day, CAST(range AS DATE) - DATE '2022-01-01' AS day_no,
         year(range) AS y, month(range) AS mon, day(range) AS dom, isodow(range) AS dow,
         day(last_day(CAST(range AS DATE))) AS month_days, month(range) * 100 + day(range) AS mmdd
  FROM range(TIMESTAMP '2022-01-01', TIMESTAMP '2026-01-01', INTERVAL 1 DAY)
), cells AS (
  SELECT m.merchant_id, c.day, c.day_no, p.code, p.pct, m.opens_on, m.open_days,
         CAST(m.size AS BIGINT)
         * (1000 + m.growth * c.day_no // 365)
         * (k.season[c.mon] * (c.month_days - c.dom + 1) + k.season[c.mon % 12 + 1] * (c.dom - 1)) // c.month_days
         * CASE WHEN m.week = 1 THEN [91, 94, 96, 99, 107, 121, 116][c.dow] ELSE [112, 110, 108, 106, 102, 82, 78][c.dow] END
         // 10000
         * coalesce(p.lift, 100)
         * (82 + rnd(m.merchant_id * 10000 + c.day_no, 2, 37)) // 10000 AS weight
  FROM plan_merchants m
  JOIN seed_categories k ON k.category_no = m.c1
  JOIN calendar c ON c.day >= m.opens_on
  -- now and then a merchant sits a promotion out
  LEFT JOIN seed_promotions p ON c.mmdd BETWEEN p.first_mmdd AND p.last_mmdd
       AND rnd(m.merchant_id * 1000 + c.y % 100 * 10 + p.promotion_no, 3, 100) < 88
), running AS (
  SELECT c.*, sum(weight) OVER (ORDER BY merchant_id, day_no ROWS UNBOUNDED PRECEDING) AS upto FROM cells c
), whole AS (
  SELECT max(upto) AS total FROM running
)
SELECT r.merchant_id, r.day, r.day_no, r.code, r.pct, r.opens_on, r.open_days,
       CAST((r.upto - r.weight) * 250000 // w.total AS INTEGER) AS first_no,
       CAST(r.upto * 250000 // w.total AS INTEGER) AS next_no
FROM running r CROSS JOIN whole w;

-- Numbered in the order of time. Customers order only after the day they signed up, early ones more often.
CREATE OR REPLACE TEMP TABLE plan_order_times AS
WITH slots AS (
  SELECT d.merchant_id, d.day, d.code, d.pct, unnest(range(d.first_no, d.next_no)) AS n,
         150 + greatest(d.day - d.opens_on - 1, 0) * 350 // d.open_days AS known_customers
  FROM plan_days d WHERE d.next_no > d.first_no
), timed AS (
  SELECT s.*, CAST(s.day AS TIMESTAMP) + to_seconds(
           [0, 1, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16,
            17, 17, 17, 18, 18, 18, 18, 19, 19, 19, 19, 19, 20, 20, 20, 20, 21, 21, 21, 22, 22, 23][1 + rnd(s.n, 30, 53)] * 3600
           + rnd(s.n, 31, 3600)) AS created_at
  FROM slots s
)
SELECT row_number() OVER (ORDER BY created_at, n) AS id, merchant_id, day, created_at, code, pct,
       CAST(merchant_id - 1 AS BIGINT) * 500 + 1
         + CASE WHEN rnd(n, 32, 100) < 55 THEN rnd(n, 33, known_customers)
                ELSE rnd(n, 33, 1000) * rnd(n, 34, 1000) * CAST(known_customers AS BIGINT) // 1000000 END AS customer_id
FROM timed;

-- Everything about an order but its lines. The share of the mobile app grows by three points a year, at the cost of web.
CREATE OR REPLACE TEMP TABLE plan_orders AS
WITH drawn AS (
  SELECT o.id, o.merchant_id, o.customer_id, o.day, o.created_at, m.c1, m.region, m.care, m.fee_cents,
         rnd(o.id, 40, 100) AS c_draw, rnd(o.id, 41, 1000) AS cancel_draw, rnd(o.id, 42, 100) AS promo_draw,
         m.web - 3 * (year(o.day) - 2022) AS t_web, m.web + m.app AS t_app,
         m.web + m.app + m.market AS t_market, m.web + m.app + m.market + m.shop AS t_shop,
         o.code, o.pct
  FROM plan_order_times o JOIN plan_merchants m USING (merchant_id)
), channelled AS (
  SELECT d.*,
         CASE WHEN c_draw < t_web THEN 'web' WHEN c_draw < t_app THEN 'mobile app'
              WHEN c_draw < t_market THEN 'marketplace' WHEN c_draw < t_shop THEN 'store' ELSE 'social media' END AS channel,
         CASE WHEN code IS NOT NULL AND promo_draw < 64 THEN code WHEN promo_draw >= 97 THEN 'WELCOME5' END AS promotion_code,
         CASE WHEN code IS NOT NULL AND promo_draw < 64 THEN pct WHEN promo_draw >= 97 THEN 5 ELSE 0 END AS promotion_pct
  FROM drawn d
), handled AS (
  SELECT c.*, cancel_draw < CASE channel WHEN 'store' THEN 8 WHEN 'marketplace' THEN 62 ELSE 44 END AS is_cancelled,
         -- the carrier a merchant uses most depends on its region
         CASE WHEN rnd(id, 43, 100) < 58
              THEN CASE region WHEN 'Nordics' THEN 'Tern Parcel' WHEN 'British Isles' THEN 'Redgate Couriers'
                               WHEN 'Southern Europe' THEN 'Mistral Express' ELSE 'Lantern Post' END
              ELSE pick(id, 44, ['Tern Parcel', 'Redgate Couriers', 'Mistral Express', 'Lantern Post', 'Hedgehog Freight']) END AS carrier,
         CASE WHEN rnd(id, 45, 100) < 80
              THEN CASE region WHEN 'Nordics' THEN 'Hub Birch' WHEN 'British Isles' THEN 'Hub Larch'
                               WHEN 'Southern Europe' THEN 'Hub Olive' WHEN 'Western Europe' THEN 'Hub Poplar' ELSE 'Hub Spruce' END
              ELSE pick(id, 46, ['Hub Birch', 'Hub Larch', 'Hub Olive', 'Hub Poplar', 'Hub Spruce']) END AS warehouse
  FROM channelled c
), timed AS (
  -- minutes of handling in the warehouse and of transport, then a delay for some: more in the weeks before
  -- Christmas, more with the weaker carriers, more out of one warehouse in its first year
  SELECT h.*, channel <> 'store' AND NOT is_cancelled AS to_ship,
         240 + rnd(id, 47, 1500) + CASE WHEN isodow(day) >= 6 THEN 900 ELSE 0 END AS handling_min,
         CASE carrier WHEN 'Redgate Couriers' THEN 1300 WHEN 'Tern Parcel' THEN 1900 WHEN 'Lantern Post' THEN 2300
                      WHEN 'Mistral Express' THEN 1500 ELSE 3600 END + rnd(id, 48, 2000) AS transport_min,
         CASE carrier WHEN 'Redgate Couriers' THEN 4 WHEN 'Tern Parcel' THEN 4 WHEN 'Lantern Post' THEN 5
                      WHEN 'Mistral Express' THEN 4 ELSE 6 END AS promised_days,
         CASE WHEN rnd(id, 49, 1000) <
                   CASE carrier WHEN 'Redgate Couriers' THEN 90 WHEN 'Tern Parcel' THEN 70 WHEN 'Lantern Post' THEN 110
                                WHEN 'Mistral Express' THEN 170 ELSE 210 END
                   + CASE WHEN month(day) = 12 AND day(day) < 24 THEN 130 WHEN month(day) = 11 AND day(day) >= 20 THEN 80 ELSE 0 END
                   + CASE WHEN warehouse = 'Hub Olive' AND year(day) = 2022 THEN 90 ELSE 0 END
              THEN 1440 + least(rnd(id, 50, 10000), rnd(id, 51, 10000)) ELSE 0 END AS delay_min,
         rnd(id, 52, 1000) < 2 AS is_lost, rnd(id, 53, 1000) < 25 AS is_held
  FROM handled h
), dated AS (
  SELECT t.*, CASE WHEN to_ship THEN created_at + to_minutes(CAST(handling_min AS BIGINT)) END AS will_ship_at,
         CASE WHEN to_ship THEN created_at + to_minutes(CAST(handling_min + transport_min + delay_min AS BIGINT)) END AS will_arrive_at
  FROM timed t
)
SELECT id, CAST(merchant_id AS BIGINT) AS merchant_id, customer_id, day, created_at, c1, care, promotion_pct,
       CASE WHEN is_cancelled THEN 'cancelled'
            WHEN NOT to_ship THEN 'completed'
            WHEN is_held AND day >= DATE '2025-12-18' THEN 'on hold'
            WHEN will_ship_at >= TIMESTAMP '2026-01-01' THEN 'processing'
            WHEN is_lost OR will_arrive_at >= TIMESTAMP '2026-01-01' THEN 'shipped'
            ELSE 'completed' END AS status,
       channel,
       CASE WHEN channel = 'store' THEN pick(id, 54, ['card', 'card', 'card', 'cash', 'cash', 'digital wallet'])
            ELSE pick(id, 54, ['card', 'card', 'card', 'card', 'digital wallet', 'digital wallet', 'digital wallet',
                               'bank transfer', 'pay later', 'pay later']) END AS payment_method,
       promotion_code,
       CASE WHEN NOT to_ship OR rnd(id, 55, 100) < 30 THEN 0 ELSE fee_cents END AS fee_cents,
       carrier, warehouse, promised_days, will_ship_at,
       CASE WHEN NOT is_lost AND will_arrive_at < TIMESTAMP '2026-01-01' THEN will_arrive_at END AS arrived_at
FROM dated;

-- ---------------------------------------------------------------------------------------------------------
-- Order lines, refunds, shipments
-- ---------------------------------------------------------------------------------------------------------

-- One to six lines, each a different product of the merchant: a popular one first, then a fixed stride through the
-- 30 products (coprime to 30, so none comes twice). Prices rise a little every year. unit_cost is the cost on that day.
CREATE OR REPLACE TEMP TABLE plan_items AS
WITH heads AS (
  SELECT id, merchant_id, customer_id, promotion_pct, segment_of(customer_id) = 'business' AS is_business,
         CASE year(day) WHEN 2022 THEN 90 WHEN 2023 THEN 94 WHEN 2024 THEN 97 ELSE 100 END AS price_pct,
         rnd(id, 60, 30) * (10 + rnd(id, 61, 21)) // 30 AS first_product,
         CASE rnd(id, 62, 8) WHEN 0 THEN 1 WHEN 1 THEN 7 WHEN 2 THEN 11 WHEN 3 THEN 13 WHEN 4 THEN 17 WHEN 5 THEN 19 WHEN 6 THEN 23 ELSE 29 END AS stride,
         digit(id, 63, '1111122223333456') AS line_count
  FROM plan_orders WHERE status <> 'cancelled'
), counted AS (
  SELECT h.*, CAST(sum(line_count) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS BIGINT) - line_count AS lines_before FROM heads h
), lines AS (
  SELECT c.*, unnest(range(c.line_count)) AS line_no FROM counted c
), priced AS (
  SELECT l.lines_before + l.line_no + 1 AS id, l.id * 8 + l.line_no AS line_key, l.id AS order_id, l.merchant_id, p.id AS product_id, l.promotion_pct,
         CASE WHEN p.category_no = 14 THEN 1 + least(rnd(l.id * 8 + l.line_no, 64, 6), rnd(l.id * 8 + l.line_no, 65, 6))
              WHEN l.is_business THEN digit(l.id * 8 + l.line_no, 64, '11122346')
              ELSE digit(l.id * 8 + l.line_no, 64, '111111112223') END AS quantity,
         p.list_cents * l.price_pct // 100 // 10 * 10 + 9 AS price_cents,
         p.cost_cents * l.price_pct // 100 AS cost_cents
  FROM lines l JOIN plan_products p ON p.id = (l.merchant_id - 1) * 30 + 1 + (l.first_product + l.stride * l.line_no) % 30
)
SELECT id, order_id, merchant_id, product_id, quantity, price_cents, cost_cents,
       -- without a promotion a few lines are marked down all the same
       CASE WHEN promotion_pct > 0 THEN (quantity * price_cents * promotion_pct + 50) // 100
            WHEN rnd(line_key, 66, 100) < 5 THEN (quantity * price_cents * (5 + rnd(line_key, 67, 3) * 5) + 50) // 100
            ELSE 0 END AS discount_cents
FROM priced;

-- About one order in twenty is refunded, in whole or in part, late ones more often. Some in two steps.
CREATE OR REPLACE TEMP TABLE plan_refunds AS
WITH candidates AS (
  SELECT o.*, coalesce(o.arrived_at, o.created_at) AS received_at,
         coalesce(o.arrived_at > date_trunc('day', o.created_at) + to_days(o.promised_days + 1), false) AS is_late
  FROM plan_orders o WHERE o.status = 'completed'
), refunded AS (
  SELECT c.* FROM candidates c WHERE rnd(c.id, 70, 10000) < 400 + c.care + CASE WHEN c.is_late THEN 500 ELSE 0 END
), totals AS (
  SELECT i.order_id, sum(i.quantity * i.price_cents - i.discount_cents) AS total_cents
  FROM plan_items i SEMI JOIN refunded r ON r.id = i.order_id GROUP BY i.order_id
), shares AS (
  SELECT r.*, t.total_cents, s.step,
         CASE WHEN rnd(r.id, 71, 100) < 6 THEN CASE s.step WHEN 1 THEN 20 + rnd(r.id, 72, 30) ELSE 10 + rnd(r.id, 73, 40) END
              WHEN s.step = 1 AND rnd(r.id, 71, 100) < 58 THEN 100
              WHEN s.step = 1 THEN 15 + rnd(r.id, 72, 66) END AS share_pct,
         r.received_at + to_minutes(CAST(1440 + rnd(r.id, 74, 25000) + (s.step - 1) * 8640 AS BIGINT)) AS refunded_at
  FROM refunded r JOIN totals t ON t.order_id = r.id CROSS JOIN (VALUES (1), (2)) s(step)
)
SELECT row_number() OVER (ORDER BY refunded_at, id, step) AS id, id AS order_id, merchant_id,
       CASE WHEN is_late AND rnd(id, 75, 100) < 48 THEN 'arrived too late'
            WHEN c1 IN (1, 2) AND rnd(id, 76, 100) < 42 THEN 'did not fit'
            ELSE pick(id, 77, ['damaged in transit', 'damaged in transit', 'changed mind', 'changed mind', 'changed mind',
                               'not as described', 'not as described', 'faulty', 'faulty', 'wrong item sent']) END AS reason,
       total_cents * share_pct // 100 AS amount_cents, refunded_at
FROM shares WHERE share_pct IS NOT NULL AND refunded_at < TIMESTAMP '2026-01-01';

-- ---------------------------------------------------------------------------------------------------------
-- Files
-- ---------------------------------------------------------------------------------------------------------

COPY (
  SELECT * FROM out_merchants ORDER BY id
) TO '${dir}/merchants.parquet' (FORMAT parquet, COMPRESSION snappy);

COPY (
  SELECT * FROM out_customers ORDER BY id
) TO '${dir}/customers.parquet' (FORMAT parquet, COMPRESSION snappy);

COPY (
  SELECT id, CAST(merchant_id AS BIGINT) AS merchant_id, name, category, brand, money(cost_cents) AS cost, money(list_cents) AS list_price
  FROM plan_products ORDER BY id
) TO '${dir}/products.parquet' (FORMAT parquet, COMPRESSION snappy);

COPY (
  SELECT id, merchant_id, customer_id, created_at, status, channel, payment_method, promotion_code, money(fee_cents) AS shipping_fee
  FROM plan_orders ORDER BY id
) TO '${dir}/orders.parquet' (FORMAT parquet, COMPRESSION snappy);

COPY (
  SELECT id, order_id, merchant_id, product_id, CAST(quantity AS INTEGER) AS quantity, money(price_cents) AS unit_price,
         money(cost_cents) AS unit_cost, money(discount_cents) AS discount,
         money(quantity * price_cents - discount_cents) AS amount
  FROM plan_items ORDER BY id
) TO '${dir}/order_items.parquet' (FORMAT parquet, COMPRESSION snappy);

COPY (
  SELECT id, order_id, merchant_id, reason, money(amount_cents) AS amount, refunded_at AS created_at
  FROM plan_refunds ORDER BY id
) TO '${dir}/refunds.parquet' (FORMAT parquet, COMPRESSION snappy);

-- promised_at is the end of the promised day, counted from the day of the order
COPY (
  SELECT row_number() OVER (ORDER BY will_ship_at, id) AS id, id AS order_id, merchant_id, carrier, will_ship_at AS shipped_at,
         date_trunc('day', created_at) + to_days(promised_days + 1) AS promised_at, arrived_at AS delivered_at, warehouse
  FROM plan_orders WHERE status IN ('shipped', 'completed') AND channel <> 'store' ORDER BY 1
) TO '${dir}/shipments.parquet' (FORMAT parquet, COMPRESSION snappy);
