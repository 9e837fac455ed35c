-- Questions by hand, over the tables of tests/support/clinic.py. A line above each says what must happen:
--   same            answered; without noise, as plain DuckDB answers
--   refuse CODE     refused with this code
--   fault: why      wrong today; marked as an expected failure until it is refused or the same

-- Counting ---------------------------------------------------------------------------------------------------------

-- same
SELECT COUNT(*) AS n FROM t;
-- same
SELECT COUNT(age), COUNT(region), COUNT(note), COUNT(1), COUNT(NULL) FROM t;
-- same
SELECT SUM(age) AS s, AVG(age) AS m, SUM(income), AVG(income), SUM(price), AVG(price) FROM t;
-- same
SELECT VARIANCE(age) AS v, STDDEV(age) AS sd, VAR_POP(income), STDDEV_POP(price) FROM t;
-- same
SELECT CORR(age, income), COVAR_POP(age, income), COVAR_SAMP(price, age) FROM t;
-- same
SELECT COUNT(DISTINCT uid), COUNT(DISTINCT region), COUNT(DISTINCT note), SUM(DISTINCT age) FROM t;
-- same
SELECT COUNT_IF(flag), BOOL_OR(flag), BOOL_AND(age > 10), SUM(flag) FROM t;
-- same
SELECT QUANTILE_DISC(age, [0.3, 0.7])[2] AS b, QUANTILE_DISC(age, [0.3, 0.7])[1] AS a, QUANTILE_DISC(age, 0.55) AS c FROM t;
-- refuse A-107
SELECT QUANTILE_CONT(age, []) FROM t;
-- refuse A-107
SELECT QUANTILE_CONT(age, [0.5, age]) FROM t;
-- refuse A-107
SELECT APPROX_QUANTILES(age, 0) FROM t;
-- refuse A-104
SELECT APPROX_QUANTILES(DISTINCT age, 4) FROM t;
-- refuse F-172
SELECT COUNT(*) FROM t WHERE age > (SELECT APPROX_QUANTILES(age, 4) FROM t);
-- same
SELECT SUM(age * 2), SUM(age + income), SUM(-age), AVG(ABS(age - 25)) FROM t;
-- same
SELECT COUNT(*) FILTER (WHERE age > 25) AS a, SUM(income) FILTER (WHERE flag) AS b, AVG(age) FILTER (WHERE NOT flag) AS c FROM t;
-- same
SELECT SUM(income) / SUM(age) AS r, SQRT(SUM(age)), ROUND(AVG(age), 1), SUM(age) // 7, SUM(age) % 7, -COUNT(*), 1 + COUNT(*) FROM t;
-- same
SELECT CAST(AVG(age) AS INTEGER), CAST(COUNT(*) AS VARCHAR), CASE WHEN COUNT(*) > 100 THEN 'many' ELSE 'few' END FROM t;
-- same
SELECT SUM(CAST(age AS FLOAT)), SUM(COALESCE(age, 0)), SUM(CASE WHEN flag THEN age END) FROM t;
-- same
SELECT COUNT(*) AS n, n * 2 AS twice FROM t;
-- same
SELECT COUNT(*) AS a1, SUM(age) AS a0, a0 * 2 AS k0 FROM t;

-- Groups -----------------------------------------------------------------------------------------------------------

-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY region;
-- same
SELECT COUNT(*) AS n FROM t GROUP BY region;
-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY 1;
-- same
SELECT region AS r, COUNT(*) AS n FROM t GROUP BY r HAVING r <> 'R1' ORDER BY r DESC;
-- same
SELECT region, flag, COUNT(*) AS n FROM t GROUP BY ALL;
-- same
SELECT age / 10 AS b, COUNT(*) AS n FROM t GROUP BY age / 10;
-- same
SELECT FLOOR(age / 10) AS b, COUNT(*) AS n FROM t GROUP BY b;
-- same
SELECT FLOOR(income / 100) AS b, COUNT(*) AS n FROM t GROUP BY b;
-- same
SELECT EXTRACT(MONTH FROM d) AS m, COUNT(*) AS n, AVG(income) AS a FROM t GROUP BY 1 ORDER BY 1;
-- same
SELECT DATE_TRUNC('month', d) AS m, COUNT(*) AS n FROM t GROUP BY m;
-- same
SELECT d, COUNT(*) AS n FROM t WHERE d < DATE '2020-01-05' GROUP BY d;
-- same
SELECT CAST(d AS VARCHAR) AS s, d + 1 AS e, d - DATE '2020-01-01' AS f, COUNT(*) AS n FROM t WHERE d < DATE '2020-01-05' GROUP BY d;
-- same
SELECT CASE WHEN age < 20 THEN 'young' WHEN age < 25 THEN 'mid' END AS c, COUNT(*) AS n FROM t GROUP BY c;
-- same
SELECT flag, NOT flag AS other, COUNT(*) AS n FROM t GROUP BY flag;
-- same
SELECT region || '!' AS loud, COUNT(*) AS n FROM t GROUP BY region;
-- same
SELECT age % 3 AS k, COUNT(*) AS n FROM t GROUP BY age % 3 HAVING COUNT(*) > 3 AND k > 0;
-- same
SELECT note, COUNT(*) AS n FROM t GROUP BY note;
-- same
SELECT note, region, AVG(age) AS m FROM t GROUP BY note, region;
-- same
SELECT age + 1 AS age, COUNT(*) AS n FROM t GROUP BY age ORDER BY age DESC LIMIT 3;
-- same
SELECT age + 1 AS age, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY age DESC LIMIT 3;
-- same
SELECT -age AS q, COUNT(*) AS n FROM t GROUP BY age ORDER BY q + 0 LIMIT 3;
-- same
SELECT FLOOR(age / 10) AS age, COUNT(*) AS n FROM t GROUP BY FLOOR(age / 10) ORDER BY FLOOR(age / 10);
-- same
SELECT region AS a0, COUNT(*) AS k0, SUM(age) AS m0 FROM t GROUP BY region HAVING COUNT(*) > 10 ORDER BY k0 DESC, a0 LIMIT 2;
-- same
SELECT region, SUM(age) AS income FROM t GROUP BY region HAVING income > 100;
-- same
SELECT region, flag, COUNT(*) AS n FROM t GROUP BY CUBE (region, flag);
-- same
SELECT region, flag, GROUPING(region) AS g, SUM(age) AS n FROM t GROUP BY ROLLUP (region, flag) ORDER BY 1, 2, 3;
-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((region), (region), ());
-- same
SELECT COALESCE(region, 'all') AS r, COUNT(*) AS n FROM t GROUP BY ROLLUP (region);
-- same
SELECT region, flag, age, COUNT(*) AS n, SUM(age) AS s, AVG(income) AS m FROM t GROUP BY CUBE (region, flag, age);
-- same
SELECT region, flag, COUNT(*) FILTER (WHERE age > 22) AS n, COUNT(DISTINCT uid) AS u FROM t GROUP BY GROUPING SETS ((region), (flag));
-- same
SELECT age, flag, GROUPING(age, flag) AS g, COUNT(*) AS n FROM t WHERE region = 'R1' GROUP BY ROLLUP (age, flag) ORDER BY g, 1, 2;
-- same
SELECT COUNT(*) AS n FROM t WHERE flag IS NOT NULL GROUP BY GROUPING SETS ((region, flag), (region), ());
-- same
SELECT t.region, kind, SUM(amt) AS s FROM t JOIN o ON t.uid = o.uid GROUP BY CUBE (t.region, kind);
-- same
SELECT a.region, a.n * 1.0 / b.n AS share FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS a, (SELECT COUNT(*) AS n FROM t) AS b;
-- same
SELECT YEAR(d) AS y, MONTH(d) AS m, COUNT(*) AS n FROM t GROUP BY ROLLUP (y, m);

-- same
SELECT DISTINCT region FROM t;
-- same
SELECT COUNT(*) FROM (SELECT DISTINCT region FROM t) AS x;

-- Finish -----------------------------------------------------------------------------------------------------------

-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY region HAVING COUNT(*) > 300;
-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY region ORDER BY n DESC, region LIMIT 3 OFFSET 1;
-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY region ORDER BY COUNT(*) DESC, region LIMIT 2;
-- same
SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS n FROM t WHERE d < DATE '2020-01-15' GROUP BY d;
-- same
SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY region;
-- same
SELECT region, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY region;
-- same
SELECT SUM(n) AS s, AVG(n) AS a, MAX(n) AS m FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS x;
-- same
SELECT flag, SUM(n) AS s, AVG(n) AS a, MIN(n) AS lo, COUNT(*) AS c FROM (SELECT flag, region, COUNT(*) AS n FROM t GROUP BY flag, region) AS x GROUP BY flag HAVING SUM(n) > 100 ORDER BY s DESC;
-- same
SELECT flag, region, SUM(n) AS s FROM (SELECT flag, region, age, COUNT(*) AS n FROM t GROUP BY flag, region, age) AS x GROUP BY ROLLUP (flag, region);
-- same
SELECT region, SUM(n) AS s FROM (SELECT region, n FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS a UNION ALL SELECT region, n FROM (SELECT region, COUNT(age) AS n FROM t GROUP BY region) AS b) AS u GROUP BY region;
-- same
SELECT * FROM (SELECT region, flag, COUNT(*) AS n FROM t GROUP BY region, flag) AS x;
-- same
SELECT x.*, n * 2 AS m FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS x;
-- same
SELECT * EXCLUDE (n) FROM (SELECT region, COUNT(*) AS n, AVG(age) AS m FROM t GROUP BY region) AS x;
-- same
SELECT * FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS a JOIN (SELECT region, AVG(age) AS m FROM t GROUP BY region) AS b USING (region);
-- same
SELECT * FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS a NATURAL JOIN (SELECT region, AVG(age) AS m FROM t GROUP BY region) AS b;
-- same
SELECT * FROM (SELECT COUNT(*) AS n FROM t) AS a, (SELECT COUNT(*) AS m FROM o) AS b;
-- same
SELECT * FROM (SELECT region, COUNT(*) AS n, COUNT(age) AS n FROM t GROUP BY region) AS x;
-- same
SELECT * REPLACE (1 AS n) FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS x;
-- same
SELECT DISTINCT flag FROM (SELECT flag, region, COUNT(*) AS n FROM t GROUP BY flag, region) AS x;
-- same
WITH a AS (SELECT region, COUNT(*) AS n FROM t GROUP BY region), b AS (SELECT region, AVG(age) AS m FROM t GROUP BY region) SELECT a.region, n, m FROM a JOIN b ON a.region = b.region;
-- same
WITH x AS (SELECT COUNT(*) AS n FROM t) SELECT a.n - b.n AS z FROM x AS a, x AS b;
-- same
SELECT COUNT(*) AS n FROM t UNION ALL SELECT COUNT(*) FROM o;
-- same
SELECT region FROM (SELECT region, COUNT(*) AS n FROM t GROUP BY region) AS x EXCEPT SELECT region FROM (SELECT region, COUNT(*) AS n FROM t WHERE region = 'R1' GROUP BY region HAVING COUNT(*) > 0) AS y;

-- Conditions -------------------------------------------------------------------------------------------------------

-- same
SELECT COUNT(*) FROM t WHERE region IN ('R1', 'R2') AND age BETWEEN 20 AND 30 AND note IS NOT NULL;
-- same
SELECT COUNT(*) FROM t WHERE age NOT IN (20, NULL);
-- same
SELECT COUNT(*) FROM t WHERE NOT (age > 20 AND flag OR region = 'R1');
-- same
SELECT COUNT(*) FROM t WHERE flag IS TRUE OR flag IS NOT FALSE OR flag = (age > 20);
-- same
SELECT COUNT(*) FROM t WHERE age IS DISTINCT FROM 20 AND NULLIF(age, 21) IS NULL;
-- same
SELECT COUNT(*) FROM t WHERE note LIKE 'n1%' OR note ILIKE 'N2_' OR note NOT LIKE 'n%' OR note LIKE 'n$_%' ESCAPE '$';
-- same
SELECT COUNT(*) FROM t WHERE d BETWEEN '2020-02-01' AND '2020-03-01' OR ts > '2020-12-01' OR ts < DATE '2020-01-05';
-- same
SELECT COUNT(*) FROM t WHERE CAST(ts AS DATE) = d + 3 OR d - DATE '2020-01-01' > 300 OR DATE_DIFF('month', d, ts) = 1;
-- same
SELECT COUNT(*) FROM t WHERE EXTRACT(DOW FROM d) = 1 AND EXTRACT(ISODOW FROM ts) = 2 OR EXTRACT(WEEK FROM d) = 7;
-- same
SELECT COUNT(*) FROM t WHERE (-age) // 7 = -3 OR (-age) % 7 = -2 OR income // 7 = 3 OR price % 7 < 2;
-- same
SELECT COUNT(*) FROM t WHERE price * 1.5 > income AND price + 1.125 < 300 AND price / 3 > 10;
-- same
SELECT COUNT(*) FROM t WHERE CAST(price * 1.5 AS VARCHAR) LIKE '%.500' OR CAST(income AS VARCHAR) LIKE '%9.25';
-- same
SELECT COUNT(*) FROM t WHERE CAST(price AS INTEGER) = 10 OR CAST(income + 0.25 AS INTEGER) = 10 OR CAST(age AS VARCHAR) = '20';
-- same
SELECT COUNT(*) FROM t WHERE EXP(income / 100) > 100 AND LN(age) < 3.2 AND age ^ 2 > 400;
-- same
SELECT COUNT(*) FROM t WHERE GREATEST(age, 20, NULL) = 20 AND LEAST(price, income) < 100;
-- same
SELECT COUNT(*) FROM t WHERE SUBSTRING(note, -1) = '3' OR TRIM(note || ' ') = 'n1' OR LENGTH(note) = 2 OR CONCAT(note, region) = 'n1R1';
-- same
SELECT COUNT(*) FROM t WHERE TRUE AND 1 = 1 AND 'a' < 'b';

-- Functions --------------------------------------------------------------------------------------------------------

-- same
SELECT COUNT(*) FROM t WHERE d + INTERVAL 1 DAY = DATE '2020-03-02';
-- same
SELECT COUNT(*) FROM t WHERE DATE_DIFF('day', d, '2020-06-01') = 1;
-- same
SELECT COUNT(*) FROM t WHERE d BETWEEN DATE '2020-06-01' - INTERVAL '2 months' AND '2020-06-01';
-- same
SELECT COUNT(*) FROM t WHERE ts - d > INTERVAL '100 days' OR ts - ts = INTERVAL '0 days';
-- same
SELECT COUNT(*) FROM t WHERE ts + INTERVAL (age) DAY < '2020-03-01 12:00:00' AND d - INTERVAL '1 month 2 days' > '2019-12-05';
-- same
SELECT SUM(EXTRACT(EPOCH FROM ts - d)), AVG(DATE_SUB('month', d, ts)), SUM(DATE_DIFF('hour', d, ts)) FROM t;
-- same
SELECT MONTHNAME(d) AS m, COUNT(*) AS n FROM t GROUP BY m;
-- same
SELECT DAYNAME(ts) AS w, COUNT(*) AS n, AVG(income) AS a FROM t GROUP BY w HAVING COUNT(*) > 0;
-- same
SELECT STRFTIME(d, '%Y-%m') AS m, COUNT(*) AS n FROM t GROUP BY m HAVING COUNT(*) > 0;
-- same
SELECT LAST_DAY(d) AS e, COUNT(*) AS n FROM t GROUP BY e HAVING COUNT(*) > 0;
-- same
SELECT TIME_BUCKET(INTERVAL '1 month', d) AS b, COUNT(*) AS n FROM t GROUP BY b HAVING COUNT(*) > 0;
-- same
SELECT d + INTERVAL '1 month' AS later, COUNT(*) AS n FROM t WHERE d < '2020-01-05' GROUP BY later HAVING COUNT(*) > 0;
-- same
SELECT YEARWEEK(d) AS w, COUNT(*) AS n FROM t GROUP BY w HAVING COUNT(*) > 0;
-- same
SELECT COUNT(*) FROM t WHERE CASE d WHEN '2020-03-01' THEN TRUE ELSE age = 20 END;
-- same
SELECT COUNT(*) FROM t WHERE COALESCE(d, '2020-01-01') = '2020-01-01' OR GREATEST(d, '2020-12-20') > '2020-12-20';
-- same
SELECT COUNT(*) FROM t WHERE MAKE_DATE(2020, age % 12 + 1, 1) = DATE_TRUNC('month', d);
-- same
SELECT COUNT(*) FROM t WHERE d = '2020-03-01 00:00:00' OR ts < '2020-01-02';
-- same
SELECT MD5_NUMBER_LOWER(note) % 4 AS b, COUNT(*) AS n FROM t GROUP BY b HAVING COUNT(*) > 0;
-- same
SELECT age & 3 AS b, COUNT(*) AS n FROM t GROUP BY b HAVING COUNT(*) > 0;
-- same
SELECT SUM(age << 2), SUM(age >> 1), SUM(XOR(age, 5)), SUM(age | 64), SUM(~age), SUM(BIT_COUNT(age)) FROM t;
-- same
SELECT SUM(ROUND(age, -1)), SUM(TRUNC(income, 1)), SUM(EVEN(income)), SUM(ROUND_EVEN(price, 1)) FROM t;
-- same
SELECT ROUND(income, -2) AS r, COUNT(*) AS n FROM t WHERE age = 20 GROUP BY r HAVING COUNT(*) > 0;
-- same
SELECT SUM(SIN(age)), SUM(CBRT(income)), SUM(LN(age)), SUM(LOG(2, age)), SUM(ATAN2(age, 20)), SUM(TANH(income / 100)) FROM t;
-- same
SELECT SUM(DEGREES(PI() * age)), SUM(GCD(age, 12)), SUM(LCM(age, 4)), SUM(LEAST(GAMMA(age / 10), 100)) FROM t WHERE age / 10 > 2;
-- same
SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(note, '^n[0-4]$') OR note SIMILAR TO 'n4.' OR note ~ '9$' OR note GLOB 'n3?';
-- same
SELECT REGEXP_EXTRACT(note, '[0-9]+') AS k, COUNT(*) AS n FROM t GROUP BY k;
-- same
SELECT COUNT(*) FROM t WHERE SPLIT_PART(note, 'n', 2) = '12' OR LEFT(note, 2) = 'n3' OR RIGHT(note, 1) = '7' OR REVERSE(note) = '5n';
-- same
SELECT COUNT(*) FROM t WHERE REPLACE(note, 'n', 'm') = 'm7' OR TRANSLATE(note, 'n1', 'x') = 'x' OR CONCAT_WS('-', note, region) = 'n2-R1';
-- same
SELECT SUM(STRPOS(note, '1')), SUM(ASCII(note)), SUM(STRLEN(note)), COUNT(CHR(age)) FROM t;
-- same
SELECT COUNT(*) FROM t WHERE note NOT LIKE 'n$_%' ESCAPE '$' AND note NOT ILIKE 'N1' ESCAPE '$';
-- same
SELECT COUNT(*) FROM t WHERE CAST(SUBSTRING(note, 2) AS INTEGER) BETWEEN 5 AND 9;
-- same
SELECT SUM(CAST(SUBSTRING(note, 2) AS TINYINT)), SUM(TRY_CAST(note AS INTEGER)), COUNT(TRY_CAST(note AS DATE)) FROM t;
-- same
SELECT COUNT(*) FROM t WHERE CAST(age AS BOOLEAN) AND CAST(flag AS DOUBLE) = 1 AND CAST(CAST(d AS VARCHAR) AS DATE) = d;
-- same
SELECT COUNT(*) FROM t WHERE age::text = '20' OR income::real = 20.25 OR CAST('20' AS INTEGER) = age;
-- same
SELECT COUNT(*) FROM t WHERE age == 20 OR age != 21 OR note ISNULL OR note NOTNULL OR flag IS UNKNOWN;
-- same
SELECT COUNT(*) FROM t WHERE TRIM(BOTH 'n' FROM note) = '3' OR POSITION('2' IN note) = 2 OR SUBSTRING(note FROM 2 FOR 1) = '4';

-- Units ------------------------------------------------------------------------------------------------------------

-- same
SELECT COUNT(*) AS n, AVG(c) AS a FROM (SELECT uid, COUNT(*) AS c FROM t GROUP BY uid) AS x;
-- same
SELECT c, COUNT(*) AS n FROM (SELECT uid, COUNT(*) AS c FROM t GROUP BY uid) AS x GROUP BY c;
-- same
SELECT COUNT(*) AS n, SUM(s) AS s FROM (SELECT uid, SUM(income) AS s FROM t GROUP BY uid HAVING COUNT(*) > 3) AS x;
-- same
SELECT r, COUNT(*) AS n FROM (SELECT uid, MIN(region) AS r FROM t GROUP BY uid) AS x GROUP BY r;
-- same
SELECT COUNT(*) AS n FROM (SELECT DISTINCT uid FROM t) AS x;
-- same
SELECT region, COUNT(*) AS n FROM (SELECT DISTINCT uid, region FROM t) AS x GROUP BY region;
-- same
SELECT rn, COUNT(*) AS n, AVG(age) AS a FROM (SELECT uid, age, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY ts) AS rn FROM t) AS x GROUP BY rn;
-- same
SELECT COUNT(*) AS n FROM (SELECT uid, age - LAG(age) OVER (PARTITION BY uid ORDER BY ts) AS step FROM t) AS x WHERE step > 0;
-- same
SELECT SUM(s) AS n FROM (SELECT uid, SUM(age) OVER (PARTITION BY uid ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t) AS x;
-- same
SELECT COUNT(*) AS n FROM (SELECT uid FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY ts) = 1) AS x;
-- same
WITH x AS (SELECT uid, age FROM t WHERE age > 22) SELECT COUNT(*) AS n FROM x;
-- same
SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.uid = b.uid;
-- same
SELECT kind, COUNT(*) AS n, SUM(amt) AS s, AVG(age) AS a FROM t JOIN o ON t.uid = o.uid GROUP BY kind;
-- same
SELECT kind, COUNT(*) AS n, COUNT(amt) AS c FROM t LEFT JOIN o ON t.uid = o.uid AND o.amt > age GROUP BY kind;
-- same
SELECT region, COUNT(*) AS n, COUNT(age) AS c FROM t RIGHT JOIN o ON t.uid = o.uid GROUP BY region;
-- same
SELECT region, kind, COUNT(*) AS n, COUNT(age) AS c, COUNT(amt) AS e FROM t FULL JOIN o ON t.uid = o.uid AND o.amt > 60 GROUP BY region, kind;
-- same
SELECT COUNT(*) AS n, COUNT(uid) AS c FROM t FULL JOIN o USING (uid);
-- same
SELECT COUNT(*) AS n FROM t, o WHERE t.uid = o.uid AND amt > age;
-- same
SELECT COUNT(*) AS n FROM t WHERE uid NOT IN (SELECT uid FROM o);
-- same
SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt > t.age);
-- same
SELECT COUNT(*) AS n FROM t SEMI JOIN o ON t.uid = o.uid UNION ALL SELECT COUNT(*) FROM t ANTI JOIN o ON t.uid = o.uid;
-- same
SELECT COUNT(*) AS n FROM (SELECT uid FROM t EXCEPT SELECT uid FROM o) AS x;
-- same
SELECT COUNT(*) AS n FROM (SELECT uid FROM t INTERSECT SELECT uid FROM o) AS x;
-- same
SELECT COUNT(*) AS n, SUM(v) AS s FROM (SELECT uid, age AS v FROM t UNION ALL SELECT uid, amt FROM o) AS x;
-- same
SELECT COUNT(*) AS n, SUM(v) AS s FROM (SELECT uid, age AS v FROM t UNION SELECT uid, amt FROM o) AS x;
-- same
SELECT COUNT(*) AS n FROM t WHERE age = (SELECT MAX(age) FROM t AS u WHERE u.uid = t.uid);
-- same
SELECT COUNT(*) AS n FROM t WHERE (SELECT COUNT(*) FROM o WHERE o.uid = t.uid) > 2;
-- same
SELECT COUNT(*) AS n FROM t WHERE age > (SELECT AVG(age) AS x FROM t);

-- same
SELECT COUNT(*) AS n FROM t WHERE age > (SELECT AVG(age) FROM t WHERE region = 'R1');
-- same
SELECT COUNT(*) AS n FROM t WHERE region IN (SELECT region FROM t GROUP BY region HAVING COUNT(*) > 500);
-- same
SELECT COUNT(*) AS n FROM t WHERE region NOT IN (SELECT region FROM t WHERE region IS NOT NULL GROUP BY region HAVING COUNT(*) > 950);
-- same
SELECT COUNT(*) AS n FROM t JOIN (SELECT region, AVG(age) AS m FROM t GROUP BY region) AS x ON t.region = x.region WHERE t.age > x.m;
-- same
SELECT region, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM t) AS share FROM t GROUP BY region;
-- same
SELECT (SELECT COUNT(*) FROM o) - (SELECT COUNT(*) FROM t) AS z;
-- same
SELECT AVG(k) AS k, COUNT(k) FROM (SELECT uid, (SELECT SUM(amt) FROM o WHERE o.uid = t.uid) AS k FROM t) AS x;
-- same
SELECT COUNT(*) AS n FROM t WHERE (SELECT COUNT(*) + 1 FROM o WHERE o.uid = t.uid) = 1 OR (SELECT COALESCE(MAX(amt), -1) FROM o WHERE o.uid = t.uid) = -1;
-- same
SELECT COUNT(*) AS n FROM t WHERE age NOT IN (SELECT amt FROM o WHERE o.uid = t.uid);
-- same
SELECT COUNT(*) AS n, COUNT(uid) AS m FROM (SELECT DISTINCT o.uid FROM t LEFT JOIN o ON t.uid = o.uid WHERE o.uid IS NOT NULL) AS x;
-- same
SELECT COUNT(*) AS n FROM t LEFT JOIN o ON t.uid = o.uid LEFT JOIN t AS u ON o.uid = u.uid;

-- Public tables ----------------------------------------------------------------------------------------------------

-- same
SELECT label, COUNT(*) AS n FROM t JOIN dim USING (region) GROUP BY label;
-- same
SELECT label, COUNT(*) AS n, SUM(n) AS s FROM t LEFT JOIN dim ON t.region = dim.region AND dim.n > 1 GROUP BY label;
-- same
SELECT label, COUNT(*) AS n FROM dim RIGHT JOIN t ON t.region = dim.region GROUP BY label;
-- same
SELECT COUNT(*) AS n FROM t CROSS JOIN dim;
-- same
SELECT COUNT(*) AS n FROM t JOIN dim ON t.age > dim.n * 5;
-- same
SELECT COUNT(*) AS n FROM t NATURAL JOIN dim;
-- same
SELECT COUNT(*) AS n FROM t WHERE region IN (SELECT region FROM dim WHERE n > 1);
-- same
SELECT COUNT(*) AS n FROM t WHERE region NOT IN (SELECT region FROM dim WHERE n > 1);
-- same
SELECT COUNT(*) AS n FROM t JOIN (SELECT DISTINCT region FROM dim) AS x ON t.region = x.region;

-- Refused ----------------------------------------------------------------------------------------------------------

-- refuse S-1
SELECT * FROM t;
-- refuse S-100
SELECT region FROM t;
-- refuse S-100
SELECT uid, COUNT(*) AS n FROM t GROUP BY uid;
-- refuse S-100
SELECT uid, region, COUNT(*) AS n FROM t GROUP BY uid, region;
-- refuse S-110
SELECT COUNT(*) FROM t AS a CROSS JOIN t AS b;
-- refuse S-110
SELECT COUNT(*) FROM t JOIN o ON t.age = o.amt;
-- refuse S-110
SELECT COUNT(*) FROM t JOIN o ON t.uid = o.uid OR t.age = o.amt;
-- refuse S-110
SELECT COUNT(*) FROM t JOIN o ON t.uid = o.uid + 1;
-- refuse S-112
SELECT COUNT(*) FROM dim LEFT JOIN t ON t.region = dim.region;
-- refuse S-121
SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM o);
-- refuse S-121
SELECT COUNT(*) FROM t WHERE age IN (SELECT amt FROM o);
-- refuse S-140
SELECT COUNT(*) FROM (SELECT region FROM t UNION ALL SELECT region FROM dim) AS x;
-- refuse S-141
SELECT COUNT(*) FROM (SELECT region FROM t EXCEPT SELECT kind FROM o) AS x;
-- refuse S-150
SELECT COUNT(*) FROM (SELECT uid, ROW_NUMBER() OVER (ORDER BY age) AS r FROM t) AS x;
-- refuse S-150
SELECT COUNT(*) FROM (SELECT uid, COUNT(*) OVER (PARTITION BY region) AS r FROM t) AS x;
-- refuse S-15
SELECT COUNT(*) FROM (SELECT uid FROM t LIMIT 10) AS x;
-- refuse S-15
SELECT COUNT(*) FROM (SELECT DISTINCT ON (uid) uid, age FROM t) AS x;
-- refuse S-15
SELECT COUNT(*) FROM t TABLESAMPLE 10 PERCENT;
-- refuse F-102
SELECT COUNT(*) FROM t WHERE RANDOM() > 0;
-- refuse F-101
SELECT COUNT(*) FROM t WHERE getenv('HOME') = 'x';
-- refuse F-1
SELECT COUNT(*) FROM t WHERE region = 1;
-- refuse F-1
SELECT COUNT(*) FROM t WHERE age;
-- refuse N-101
SELECT COUNT(*) FROM t WHERE salary > 3;
-- refuse N-100
SELECT COUNT(*) FROM duckdb_settings;
-- refuse P-123
SELECT COUNT(*) FROM read_csv('/etc/passwd');
-- refuse N-104
SELECT age, COUNT(*) FROM t GROUP BY region;
-- refuse N-102
SELECT COUNT(*) FROM t JOIN o ON t.uid = o.uid WHERE uid > 3;
-- refuse P-104
SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM o;
-- refuse P-106
DROP TABLE t;
-- refuse P-1
SELECT TOP 3 region, COUNT(*) AS n FROM t GROUP BY region;
-- refuse A-104
SELECT STRING_AGG(note, ',') FROM t;
-- refuse A-104
SELECT ANY_VALUE(age) FROM t;
-- refuse S-102
SELECT COUNT(*) FROM dim;
-- refuse S-103
SELECT 1;
-- refuse P-105
SELECT COUNT(*) FROM t WHERE age > $1;
-- refuse S-152
WITH RECURSIVE r AS (SELECT uid FROM t UNION ALL SELECT uid FROM r) SELECT COUNT(*) FROM r;

-- Functions refused ------------------------------------------------------------------------------------------------

-- refuse F-103
SELECT COUNT(*) FROM t WHERE REPEAT(note, 3) = 'x';
-- refuse F-103
SELECT COUNT(*) FROM t WHERE LEVENSHTEIN(note, 'n1') < 2;
-- refuse F-103
SELECT COUNT(*) FROM t WHERE HASH(note) % 10 = 1;
-- refuse F-103
SELECT COUNT(*) FROM t WHERE ISNAN(income);
-- refuse F-103
SELECT COUNT(*) FROM t WHERE AGE(ts, d) > INTERVAL '1 month';
-- refuse F-103
SELECT COUNT(*) FROM t WHERE ts AT TIME ZONE 'Europe/Paris' > ts;
-- refuse F-120
SELECT COUNT(*) FROM t WHERE ts + 3 > ts;
-- refuse F-120
SELECT COUNT(*) FROM t WHERE d + 1.5 > d;
-- refuse F-120
SELECT COUNT(*) FROM t WHERE d - '2020-01-01' > 3;
-- refuse F-121
SELECT COUNT(*) FROM t WHERE d > note;
-- refuse F-121
SELECT COUNT(*) FROM t WHERE age > INTERVAL '1 day';
-- refuse F-130
SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES('abc', note);
-- refuse F-130
SELECT COUNT(*) FROM t WHERE REPLACE(note, region, 'x') = 'x';
-- refuse F-130
SELECT COUNT(*) FROM t WHERE STRFTIME(d, note) = 'x';
-- refuse F-132
SELECT COUNT(*) FROM t WHERE d > 'yesterday';
-- refuse F-132
SELECT COUNT(*) FROM t WHERE d > '20200101';
-- refuse F-132
SELECT COUNT(*) FROM t WHERE d = '2020-02-30';
-- refuse F-132
SELECT COUNT(*) FROM t WHERE DATE_DIFF('day', d, 'soon') = 1;
-- refuse F-120
SELECT COUNT(*) FROM t WHERE DATE_DIFF('day', '2020-01-01', '2020-06-01') = 1;
-- refuse F-135
SELECT COUNT(*) FROM t WHERE DATE_DIFF('fortnight', d, ts) = 1;
-- refuse F-135
SELECT COUNT(*) FROM t WHERE EXTRACT(TIMEZONE FROM ts) = 0;
-- refuse F-136
SELECT COUNT(*) FROM t WHERE d < '2020-06-01 10:00:00';
-- refuse F-137
SELECT COUNT(*) FROM t WHERE d + INTERVAL 'a while' > d;
-- refuse F-138
SELECT COUNT(*) FROM t WHERE COALESCE(ts - d, INTERVAL '1 day') > INTERVAL '1 day';
-- refuse F-138
SELECT COUNT(*) FROM (SELECT uid, ts - d AS gap FROM t) AS x WHERE gap > INTERVAL '1 day';
-- refuse F-138
SELECT COUNT(*) FROM t WHERE INTERVAL '1 month' - INTERVAL '1 day' > ts - d;
-- refuse F-139
SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(note, '(a{1,20}){20}');
-- refuse F-139
SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(note, '(?=a)b');
-- refuse F-139
SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(note, '(a');
-- refuse F-139
SELECT COUNT(*) FROM t WHERE STRFTIME(d, '%Q') = 'x';
-- refuse F-142
SELECT COUNT(*) FROM t WHERE d + INTERVAL '20000 years' > d;
-- refuse F-147
SELECT COUNT(*) FROM t WHERE BIT_COUNT(-age) = 3;
-- refuse F-148
SELECT COUNT(*) FROM t WHERE age << -1 = 3;
-- refuse F-149
SELECT COUNT(*) FROM t WHERE SUBSTRING(note, age * 1000000000) = 'x';
-- refuse F-150
SELECT COUNT(*) FROM t WHERE CAST(ts AS TIME) = '10:00';
-- refuse F-150
SELECT COUNT(*) FROM t WHERE CAST(d AS INTEGER) = 3;
-- refuse F-150
SELECT COUNT(*) FROM t WHERE ~CAST(age AS UTINYINT) = 200;
-- refuse F-153
SELECT COUNT(*) FROM t WHERE age = CAST('twelve' AS INTEGER);
-- refuse P-100
SELECT COUNT(*) FROM t WHERE age BETWEEN SYMMETRIC 30 AND 20;
-- refuse P-121
SELECT COUNT(*) FROM t WHERE TRY(age + 1) > 3;
-- same
SELECT COUNT(*) FROM t WHERE note[1] = 'n';
-- refuse P-121
SELECT COUNT(*) FROM t WHERE note[age] = 'n';
-- refuse P-121
SELECT COUNT(*) FROM t WHERE note COLLATE nocase = 'N1';
-- same
SELECT COUNT(*) FROM t WHERE (age, note) = (20, 'n1') OR (note, flag) <> ('n2', TRUE) OR (age, note) NOT IN ((20, 'n1'));
-- refuse F-121
SELECT COUNT(*) FROM t WHERE (age, note) = (20, 'n1', 3);
-- refuse F-101
SELECT COUNT(*) FROM t WHERE note ->> 'a' = 'x';
-- refuse P-1
SELECT COUNT(*) FROM t WHERE age DIV 7 = 3;
-- refuse F-111
SELECT COUNT(*) FROM t WHERE ROUND(age, digits := 1) = 3;

-- Conditions and orders that need a second look ------------------------------------------------------------------------

-- same
SELECT COUNT(*) AS n FROM (SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY ts) AS rn FROM t QUALIFY rn = 1) AS x;
-- same
SELECT COUNT(*) AS n FROM (SELECT uid, age AS income, RANK() OVER (PARTITION BY uid ORDER BY age) AS r FROM t QUALIFY r = 1 AND income > 100) AS x;
-- refuse N-101
SELECT COUNT(*) AS n FROM (SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY ts) AS rn FROM t QUALIFY other = 1) AS x;
-- same
SELECT region, COUNT(*) AS n FROM t GROUP BY ALL ORDER BY ALL;
-- same
SELECT region, flag, COUNT(*) AS n FROM t GROUP BY ALL ORDER BY ALL DESC NULLS FIRST;
-- same
SELECT COUNT(*) AS n FROM t WHERE uid NOT IN (SELECT uid FROM o) OR age > 25;
-- same
SELECT COUNT(*) AS n FROM t WHERE age > 25 OR uid IN (SELECT uid FROM o WHERE amt > 50);
-- same
SELECT COUNT(*) AS n FROM t WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt > 30) OR age < 20;
-- same
SELECT COUNT(*) AS n FROM t WHERE CASE WHEN EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid) THEN age > 20 ELSE age < 25 END;
-- same
SELECT COUNT(*) AS n FROM t WHERE (uid IN (SELECT uid FROM o WHERE amt > 50)) = (uid IN (SELECT uid FROM o WHERE amt > 70));
-- refuse S-160
SELECT COUNT(*) AS n FROM t WHERE age > 25 OR age IN (SELECT amt FROM o);
-- refuse S-160
SELECT COUNT(*) AS n FROM t WHERE age > 25 OR EXISTS (SELECT 1 FROM o WHERE o.amt = t.age);
-- refuse S-160
SELECT COUNT(*) AS n FROM t WHERE age > 25 OR uid >= ANY (SELECT uid FROM o);

-- Mended: each was wrong once ---------------------------------------------------------------------------------------

-- same
SELECT COUNT(*) AS n FROM t WHERE CONCAT('{1}', note) = '{1}n1';
-- same
SELECT COUNT(*) AS n FROM t WHERE COALESCE(note, '{') = '{' OR age > 20;
-- same
SELECT COUNT(*) AS n FROM t WHERE CONCAT('{1}', ' || (SELECT max(note) FROM "table t") || ', '') LIKE 'n9%';
-- same
SELECT -age AS AGE, COUNT(*) AS n FROM t GROUP BY age ORDER BY age LIMIT 3;
-- same
SELECT COUNT(*) AS n FROM t WHERE ROUND(income) > 30 AND ROUND(price, 1) > 30;
-- refuse N-101
SELECT region, foo + 1 AS foo FROM t GROUP BY region;
-- refuse F-132
SELECT COUNT(*) AS n FROM t WHERE ts > '2020-06-01 00:00:00+02';
-- refuse K-108
SELECT age + 100000000000000000000 AS k, COUNT(*) AS n FROM t GROUP BY k;

-- same
SELECT COUNT(*) AS n, MAX(s) AS m FROM (SELECT SUM(age) AS s FROM t UNION ALL SELECT COUNT(*) FROM t) AS x;

-- same
SELECT CAST(SUM(NULLIF(price, 0.001)) AS VARCHAR) AS s, CAST(SUM(NULLIF(age, 20.0)) AS VARCHAR) AS a FROM t;
-- same
SELECT COUNT(*) AS n FROM t WHERE CAST(NULLIF(age, 1.5) AS VARCHAR) = '20' OR CAST(NULLIF(d, ts) AS VARCHAR) = '2020-03-01';

-- same
SELECT CAST(FSUM(age) AS VARCHAR) AS s, CAST(KAHAN_SUM(age) AS VARCHAR) AS k, CAST(SUM(age) AS VARCHAR) AS a FROM t;

-- Offers in the text: beside it, the test offers epsilon 1000 where it is answered and 1 where it is refused.
-- same
SELECT COUNT(*) AS n FROM t /* epsilon=1000 */;
-- refuse M-121
SELECT COUNT(*) AS n FROM t /* epsilon=0.5 */;
-- refuse M-121
SELECT COUNT(*) AS n FROM t /* within 50 */;
-- refuse P-110
SELECT COUNT(*) AS n FROM t /* epsilon is what the board decides */;
-- refuse P-113
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_groups_contributed=2) region, COUNT(*) AS n FROM t GROUP BY region;
-- refuse P-113
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, privacy_unit_column=uid) region, COUNT(*) AS n FROM t GROUP BY region;
-- refuse P-112
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon='1') COUNT(*) AS n FROM t;
-- refuse P-111
SELECT COUNT(*) AS n FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) uid FROM t);

-- Decimals: sums are decimals afterwards, of which no digit is lost ---------------------------------------------------

-- same
SELECT CAST(SUM(price) AS VARCHAR) AS s FROM t;
-- same
SELECT region, CAST(SUM(price) AS VARCHAR) AS s, CAST(SUM(price * 1.08) AS VARCHAR) AS v, COUNT(*) AS n FROM t GROUP BY region;
-- same
SELECT SUM(price) = 715205.00 AS yes, SUM(price) = 715205.01 AS no, SUM(price) % 0.03 = 0.02 AS rest FROM t;
-- same
SELECT CAST(SUM(price) / 3 AS VARCHAR) AS a, CAST(ROUND(SUM(price), -2) AS VARCHAR) AS b, CAST(FLOOR(SUM(price)) AS VARCHAR) AS c FROM t;
-- same
SELECT CAST(CASE WHEN SUM(price) > 1 THEN SUM(price) ELSE SUM(age) END AS VARCHAR) AS a, CAST(SUM(price) + 0.1 AS VARCHAR) AS b FROM t;
-- same
SELECT CAST(s AS VARCHAR) AS s FROM (SELECT SUM(price) AS s FROM t UNION ALL SELECT SUM(age) FROM t) AS x;
-- same
SELECT CAST(SUM(s) AS VARCHAR) AS s, CAST(MAX(s) AS VARCHAR) AS m FROM (SELECT region, SUM(price) AS s FROM t GROUP BY region) AS x;
-- same
SELECT CAST(SUM(s) AS VARCHAR) AS s FROM (SELECT uid, SUM(price) AS s FROM t GROUP BY uid HAVING SUM(price) > 9.99) AS x;
-- same
SELECT CAST(SUM(w) AS VARCHAR) AS s FROM (SELECT SUM(price) OVER (PARTITION BY uid ORDER BY ts) AS w FROM t) AS x;
-- same
SELECT CAST(ROUND(price, -2) AS VARCHAR) AS p, COUNT(*) AS n FROM t GROUP BY ROUND(price, -2);
