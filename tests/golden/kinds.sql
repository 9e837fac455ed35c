-- Questions as analysts write them, over the tables of tests/support/register.py. A line above each says what must happen:
--   same                   answered; without noise, as plain DuckDB answers, under DuckDB's names of the columns
--   refuse CODE at TEXT    refused with this code, and the caret under this part of it (none: no part of it is shown)
--   instead QUESTION       below a refusal: what its hint leads to, which must be answered the same

-- Answered -------------------------------------------------------------------------------------------------------------

-- same
SELECT STRFTIME('%Y', d) AS y, COUNT(*) FROM T GROUP BY 1;
-- same
SELECT main.T.region, COUNT(*) FROM main.T GROUP BY main.T.region;
-- same
SELECT SKEWNESS(age), KURTOSIS(age) FROM T;
-- same
SELECT SEM(age) FROM T;
-- same
SELECT GEOMEAN(age) FROM T;
-- same
SELECT GEOMETRIC_MEAN(age) FROM T;
-- same
SELECT REGR_SLOPE(income, age) FROM T;
-- same
SELECT REGR_INTERCEPT(income, age) FROM T;
-- same
SELECT REGR_SXX(income, age), REGR_SYY(income, age), REGR_SXY(income, age) FROM T;
-- same
SELECT region, ANY_VALUE(region) AS r, COUNT(*) FROM T GROUP BY region;
-- same
SELECT AVG(age) FROM (SELECT DISTINCT ON (uid) uid, age FROM T ORDER BY uid, d) AS x;
-- same
SELECT AVG(s) FROM (SELECT uid, SUM(income) OVER (PARTITION BY uid ORDER BY d) AS s FROM T) AS x;
-- same
SELECT AVG(m) FROM (SELECT uid, MEDIAN(age) AS m FROM T GROUP BY uid) AS x;
-- same
SELECT AVG(sd) FROM (SELECT uid, STDDEV(age) AS sd FROM T GROUP BY uid) AS x;
-- same
SELECT AVG(a) FROM (SELECT uid, FIRST(age ORDER BY d) AS a FROM T GROUP BY uid) AS x;
-- same
SELECT AVG(a) FROM (SELECT uid, ARG_MAX(age, d) AS a FROM T GROUP BY uid) AS x;
-- same
SELECT region, COUNT(*) FROM (SELECT uid, ARG_MIN(region, d) AS region FROM T GROUP BY uid) AS x GROUP BY region;
-- same
SELECT COUNT(*) FROM (SELECT uid, PERCENT_RANK() OVER (PARTITION BY uid ORDER BY income) AS p FROM T) AS x WHERE p > 0.5;
-- same
SELECT COUNT(*) FROM (SELECT uid, CUME_DIST() OVER (PARTITION BY uid ORDER BY income) AS p FROM T) AS x WHERE p <= 0.5;
-- same
SELECT COUNT(*) FROM (SELECT uid, NTH_VALUE(region, 2) OVER (PARTITION BY uid ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS second FROM T) AS x WHERE second = 'R3';
-- same
SELECT COUNT(*) FROM (SELECT uid, income - AVG(income) OVER (PARTITION BY uid) AS dev FROM T) AS x WHERE dev > 0;
-- same
SELECT AVG(total) FROM (SELECT uid, SUM(amt) AS total FROM O GROUP BY uid HAVING SUM(amt) > 100 ORDER BY total DESC) AS x;
-- same
SELECT COUNT(*) FROM T WHERE (SELECT label FROM D WHERE D.region = T.region) = 'L1';
-- same
SELECT COUNT(*) FROM T JOIN (VALUES ('R1', 'north'), ('R2', 'south')) AS v(region, side) ON T.region = v.region;
-- same
SELECT v.side, COUNT(*) FROM T JOIN (VALUES ('R1', 'north'), ('R2', 'south')) AS v(region, side) ON T.region = v.region GROUP BY v.side;
-- same
SELECT COUNT(*) FROM T WHERE region IN (VALUES ('R1'), ('R2'));
-- same
WITH v(region, side) AS (VALUES ('R1', 'north'), ('R2', 'south')) SELECT side, COUNT(*) FROM T JOIN v USING (region) GROUP BY side;
-- same
SELECT g.i AS bucket, COUNT(*) FROM T JOIN generate_series(0, 9) AS g(i) ON T.age // 10 = g.i GROUP BY g.i ORDER BY 1;
-- same
WITH months AS (SELECT * FROM generate_series(DATE '2023-01-01', DATE '2023-12-01', INTERVAL 1 MONTH) AS g(m)) SELECT m, COUNT(*) FROM months JOIN T ON DATE_TRUNC('month', T.d) = m GROUP BY m ORDER BY m;
-- same
SELECT a.region, a.n, D.label FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) a LEFT JOIN D ON a.region = D.region ORDER BY 1;
-- same
SELECT COUNT(*) FROM T AS x(u, r, a, i, dd) WHERE a > 40;
-- same
SELECT region, YEAR(d) AS y, COUNT(*) AS n, GROUPING(region) AS gr, GROUPING(y) AS gy FROM T GROUP BY CUBE (region, y);
-- same
SELECT AVG(age) FROM (SELECT * REPLACE (age + 1 AS age) FROM T) AS x;
-- same
SELECT AVG(years) FROM (SELECT * RENAME (age AS years) FROM T) AS x;
-- same
SELECT COUNT(COLUMNS(*)) FROM T;
-- same
SELECT AVG(COLUMNS('age|income')) FROM T;
-- same
SELECT * REPLACE (ROUND(a, 1) AS a) FROM (SELECT region, COUNT(*) AS n, AVG(age) AS a FROM T GROUP BY region);
-- same
SELECT DISTINCT ON (old) region, age > 40 AS old, COUNT(*) AS n FROM T GROUP BY ALL ORDER BY old, n DESC;
-- same
SELECT region FROM T GROUP BY region HAVING COUNT(*) > 500 INTERSECT SELECT region FROM D;
-- same
SELECT region FROM D EXCEPT SELECT region FROM T GROUP BY region HAVING COUNT(*) > 500;
-- same
SELECT COUNT(*) FROM (SELECT uid, age FROM T WHERE age < 30 UNION ALL BY NAME SELECT age, uid FROM T WHERE age > 80) AS x;
-- same
SELECT age AS a, COUNT(*) FROM T WHERE a > 40 GROUP BY a ORDER BY a LIMIT 5;
-- same
SELECT region[2] AS c, COUNT(*) FROM T GROUP BY c;
-- same
SELECT region[2:2] AS c, COUNT(*) FROM T GROUP BY c;
-- same
SELECT COUNT(*) FROM T WHERE (region, age) IN (('R1', 30), ('R2', 40));
-- same
SELECT 1 FROM T GROUP BY region;
-- same
SELECT c_count, COUNT(*) AS custdist FROM (SELECT T.uid, COUNT(O.amt) FROM T LEFT JOIN O ON T.uid = O.uid GROUP BY T.uid) AS c_orders (c_uid, c_count) GROUP BY c_count;
-- same
SELECT region, SKEWNESS(income) AS s FROM T GROUP BY region;
-- same
SELECT region, REGR_SLOPE(income, age) AS slope, REGR_INTERCEPT(income, age) AS icpt FROM T GROUP BY region;
-- same
SELECT v.name, COUNT(*) AS n, AVG(income) FROM T JOIN (VALUES (18, 30, 'young'), (30, 60, 'middle'), (60, 120, 'old')) AS v(lo, hi, name) ON age >= lo AND age < hi GROUP BY v.name ORDER BY n DESC;
-- same
WITH bands(lo, hi) AS (VALUES (0, 25000), (25000, 50000), (50000, 100001)) SELECT lo, hi, COUNT(*) FROM bands JOIN T ON income >= lo AND income < hi GROUP BY ALL ORDER BY lo;
-- same
SELECT COUNT(*) FROM T LEFT JOIN (VALUES ('R1'), ('R2')) AS v(r) ON v.r = T.region WHERE v.r IS NULL;
-- same
SELECT COUNT(*) FROM T WHERE EXISTS (SELECT 1 FROM (VALUES ('R1', 40), ('R2', 50)) AS v(r, a) WHERE v.r = T.region AND T.age > v.a);
-- same
SELECT COUNT(*) FROM T ANTI JOIN (VALUES ('R1'), ('R2')) AS v(region) USING (region);
-- same
SELECT y, COUNT(*) FROM generate_series(2020, 2024) AS s(y), T WHERE YEAR(d) = y GROUP BY y ORDER BY y;
-- same
SELECT m, COUNT(*) FROM generate_series(DATE '2023-01-01', DATE '2023-06-01', INTERVAL '1 month') AS s(m) JOIN T ON d >= m AND d < m + INTERVAL '1 month' GROUP BY m ORDER BY m;
-- same
SELECT k, COUNT(*) FROM T JOIN unnest([10, 20, 30]) AS u(k) ON age % 10 * 10 = k GROUP BY k;
-- same
SELECT COUNT(*) FROM T JOIN (VALUES (DATE '2023-01-01', 'newyear'), (DATE '2023-05-01', 'may')) h(day, name) ON T.d = h.day;
-- same
SELECT h.name, COUNT(*) FROM T JOIN (VALUES (DATE '2023-01-01', 'newyear'), (DATE '2023-05-01', 'may')) h(day, name) ON T.d = h.day GROUP BY h.name;
-- same
SELECT v.w, AVG(age) FROM T JOIN (VALUES ('R1', TRUE), ('R2', FALSE), ('R3', NULL)) v(r, w) ON region = r GROUP BY v.w;
-- same
SELECT SUM(age * w) / SUM(w) FROM T JOIN (VALUES ('R1', 1.5), ('R2', 0.5), ('R3', 2)) v(r, w) ON region = r;
-- same
SELECT COUNT(*) FROM (SELECT T.*, amt FROM T JOIN O USING (uid)) AS x WHERE amt > age;
-- same
SELECT COUNT(*) FROM (SELECT a.*, b.* FROM T a JOIN T b ON a.uid = b.uid) AS x WHERE age > age_1;
-- same
SELECT COUNT(*) FROM (SELECT * FROM T JOIN O USING (uid)) AS x(u, r, a, i, dd, am) WHERE am > a;
-- same
SELECT COUNT(*) FROM (SELECT * FROM O UNION ALL SELECT uid, income FROM T) AS x WHERE amt > 300;
-- same
SELECT COUNT(*) FROM (SELECT * FROM T EXCEPT SELECT uid, region, age, income, d FROM T WHERE age > 40) AS x;
-- same
SELECT COUNT(*) FROM (SELECT COLUMNS('uid|age') FROM T) AS x WHERE age > 40;
-- same
SELECT COUNT(*) FROM (SELECT uid, COLUMNS(* EXCLUDE (uid, region, d)) FROM T) AS x WHERE income > age;
-- same
SELECT a.*, b.m FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) a JOIN (SELECT region, AVG(age) AS m FROM T GROUP BY region) b ON a.region = b.region;
-- same
SELECT * FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) a NATURAL JOIN (SELECT region, AVG(age) AS m FROM T GROUP BY region) b ORDER BY region;
-- same
SELECT * FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) a FULL JOIN (SELECT region, SUM(age) AS m FROM T WHERE region < 'R5' GROUP BY region HAVING COUNT(*) > 0) b USING (region) ORDER BY region;
-- same
WITH x AS (SELECT region, COUNT(*) AS n FROM T GROUP BY region), y AS (SELECT * FROM x WHERE n > 500) SELECT COUNT(*), SUM(n) FROM y;
-- same
WITH x AS (SELECT * FROM T WHERE age > 30), y AS (SELECT * EXCLUDE (income) FROM x) SELECT region, COUNT(*) FROM y GROUP BY region;
-- same
WITH x(a, b) AS (SELECT region, COUNT(*) FROM T GROUP BY region) SELECT a, b FROM x ORDER BY b DESC LIMIT 3;
-- same
SELECT "sum(age)" / "count_star()" AS m FROM (SELECT SUM(age), COUNT(*) FROM T) AS x;
-- same
SELECT D.label, SUM(x.n) AS n FROM D JOIN (SELECT region, COUNT(*) AS n FROM T GROUP BY region) AS x ON x.region = D.region GROUP BY D.label ORDER BY n DESC;
-- same
SELECT x.region, COALESCE(D.label, 'none') AS label, x.n FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) AS x LEFT JOIN D USING (region) ORDER BY 1;
-- same
SELECT x.region, v.target, x.n - v.target AS diff FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) AS x JOIN (VALUES ('R1', 400), ('R2', 500)) AS v(region, target) USING (region) ORDER BY 1;
-- same
SELECT region FROM D UNION SELECT region FROM T GROUP BY region ORDER BY 1;
-- same
SELECT COUNT(*) FROM (SELECT uid, ARG_MAX(income, d) - ARG_MIN(income, d) AS change FROM T GROUP BY uid) AS x WHERE change > 0;
-- same
SELECT last_region, COUNT(*) FROM (SELECT uid, LAST(region ORDER BY d) AS last_region FROM T GROUP BY uid) AS x GROUP BY last_region;
-- same
SELECT AVG(p90) FROM (SELECT uid, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) AS p90 FROM T GROUP BY uid) AS x;
-- same
SELECT COUNT(*) FROM (SELECT uid, STDDEV(income) / AVG(income) AS cv FROM T GROUP BY uid HAVING COUNT(*) > 1) AS x WHERE cv > 0.5;
-- same
SELECT AVG(m) FROM (SELECT uid, AVG(income) OVER (PARTITION BY uid ORDER BY d ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM T) AS x;
-- same
SELECT region, COUNT(*) FROM (SELECT DISTINCT ON (uid) uid, region FROM T ORDER BY uid, d DESC) AS x GROUP BY region ORDER BY region;
-- same
SELECT COUNT(*), AVG(income) FROM (SELECT DISTINCT ON (uid, YEAR(d)) uid, income FROM T ORDER BY uid, YEAR(d), d) AS x;
-- same
SELECT COUNT(*) FROM T WHERE age > (SELECT AVG(age) + STDDEV(age) FROM T AS u WHERE u.uid = T.uid);
-- same
SELECT COUNT(*) FROM T WHERE (SELECT ARG_MAX(amt, amt) FROM O WHERE O.uid = T.uid) > 400;
-- same
SELECT missing, COUNT(*) FROM (SELECT uid, COALESCE((SELECT label FROM D WHERE D.region = T.region), 'none') = 'none' AS missing FROM T) AS x GROUP BY missing;
-- same
SELECT REGR_INTERCEPT(income, age) + REGR_SLOPE(income, age) * 50 AS at_50 FROM T;
-- same
SELECT SKEWNESS(n), KURTOSIS(n) FROM (SELECT uid, COUNT(*) AS n FROM T GROUP BY uid) AS x;
-- same
SELECT GEOMEAN(income + 1) FROM T;
-- same
SELECT REGR_R2(income, age) FILTER (WHERE region = 'R1') FROM T;
-- same
SELECT COUNT(*) FROM T WHERE (region, YEAR(d)) IN (('R1', 2020), ('R2', 2021));
-- same
SELECT COUNT(*) FROM T WHERE (uid, d) IN (SELECT uid, MAX(d) FROM T GROUP BY uid);
-- same
SELECT age AS years, income AS pay, COUNT(*) FROM T WHERE years > 80 AND pay > 90000 GROUP BY ALL ORDER BY ALL LIMIT 3;
-- same
SELECT age // 10 AS decade, COUNT(*) AS n FROM T WHERE decade BETWEEN 3 AND 5 GROUP BY decade ORDER BY decade;
-- same
SELECT region AS r, COUNT(*) FROM T WHERE EXISTS (SELECT 1 FROM O WHERE O.uid = T.uid) AND r <> 'R1' GROUP BY r;
-- same
SELECT region AS age, COUNT(*) FROM T WHERE age > 40 GROUP BY region;
-- same
SELECT region, COUNT(*) AS n, n * 100.0 / SUM(n) OVER () AS pct FROM T GROUP BY region ORDER BY pct DESC;
-- same
SELECT region, MIN(region) AS lo, ANY_VALUE(region) AS any, COUNT(*) FROM T GROUP BY region;
-- same
SELECT region, MAX(YEAR(d)) FROM T GROUP BY region, YEAR(d);
-- same
SELECT t.region FROM T t GROUP BY t.region HAVING AVG(t.age) > 50 ORDER BY t.region;
-- same
SELECT n, COUNT(*) AS persons, SUM(COUNT(*)) OVER (ORDER BY n DESC) AS at_least FROM (SELECT uid, COUNT(*) AS n FROM T GROUP BY uid) AS x GROUP BY n ORDER BY n;
-- same
SELECT CASE WHEN n = 1 THEN '1' WHEN n <= 3 THEN '2-3' ELSE '4+' END AS visits, COUNT(*) AS persons FROM (SELECT uid, COUNT(*) AS n FROM T GROUP BY uid) AS x GROUP BY 1;
-- same
SELECT AVG(COALESCE(o.n, 0)) FROM (SELECT DISTINCT uid FROM T) AS t LEFT JOIN (SELECT uid, COUNT(*) AS n FROM O GROUP BY uid) AS o USING (uid);
-- same
SELECT COUNT(DISTINCT uid) FILTER (WHERE rn = 2) * 1.0 / COUNT(DISTINCT uid) AS return_rate FROM (SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY d) AS rn FROM T) AS x;
-- same
SELECT YEAR(first_d) AS cohort, COUNT(*) AS size, COUNT_IF(n > 3) AS loyal FROM (SELECT uid, MIN(d) AS first_d, COUNT(*) AS n FROM T GROUP BY uid) AS x GROUP BY cohort ORDER BY cohort;
-- same
SELECT a.region AS source, b.region AS target, COUNT(*) AS moves FROM (SELECT uid, region, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY d) AS rn FROM T) a JOIN (SELECT uid, region, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY d) AS rn FROM T) b ON a.uid = b.uid AND b.rn = a.rn + 1 GROUP BY 1, 2 HAVING COUNT(*) > 50 ORDER BY 3 DESC, 1, 2;
-- same
SELECT COUNT(*) FROM (SELECT uid, income, RANK() OVER (PARTITION BY uid ORDER BY income DESC) AS r FROM T WHERE age > 30) AS x WHERE r <= 2 AND income > 50000;
-- same
SELECT region, REGR_SLOPE(income, age) * 10 AS per_decade, CORR(income, age) FROM T GROUP BY region ORDER BY region;
-- same
SELECT region, SEM(income) FILTER (WHERE age > 40) AS se FROM T GROUP BY region;
-- same
SELECT region, MAX(n) OVER () - n AS gap FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) AS x ORDER BY gap, region;
-- same
SELECT region, SUM(income) AS s, SUM(SUM(income)) OVER (ORDER BY SUM(income) DESC, region) / SUM(SUM(income)) OVER () AS pareto FROM T GROUP BY region ORDER BY s DESC;
-- same
SELECT d, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY d ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week_mean FROM T WHERE YEAR(d) = 2023 AND MONTH(d) = 3 GROUP BY d ORDER BY d;
-- same
SELECT region AS "Region name", COUNT(*) AS "Number of rows" FROM T GROUP BY region ORDER BY "Number of rows" DESC;
-- same
WITH f AS (SELECT uid, MIN(d) AS first_d FROM T GROUP BY uid) SELECT YEAR(f.first_d) AS cohort, YEAR(T.d) - YEAR(f.first_d) AS age_years, COUNT(DISTINCT T.uid) AS n FROM T JOIN f ON T.uid = f.uid GROUP BY 1, 2 ORDER BY 1, 2;
-- same
SELECT COUNT(*) FROM (SELECT uid, region, SUM(chg) OVER (PARTITION BY uid ORDER BY d) AS island FROM (SELECT uid, region, d, CASE WHEN region = LAG(region) OVER (PARTITION BY uid ORDER BY d) THEN 0 ELSE 1 END AS chg FROM T) AS a) AS b WHERE island = 2;
-- same
SELECT (SELECT COUNT(DISTINCT uid) FROM O) * 1.0 / (SELECT COUNT(DISTINCT uid) FROM T) AS conversion;
-- same
SELECT region, YEAR(d) AS y, COUNT(*) AS n, GROUPING_ID(region, YEAR(d)) AS g FROM T GROUP BY ROLLUP (region, YEAR(d));
-- same
SELECT t.* FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) AS t ORDER BY n;
-- same
SELECT Region, count(*) AS N FROM t group by REGION order by n desc;
-- same
SELECT SUBSTRING(region FROM 1 FOR 1) AS code, COUNT(*) AS n, SUM(income) AS tot FROM T WHERE income > (SELECT AVG(income) FROM T WHERE income > 0) AND NOT EXISTS (SELECT * FROM O WHERE O.uid = T.uid) GROUP BY code ORDER BY code;
-- same
SELECT (COUNT(*) FILTER (WHERE age < 20) + COUNT(*) FILTER (WHERE age >= 65)) * 100.0 / NULLIF(COUNT(*) FILTER (WHERE age BETWEEN 20 AND 64), 0) AS dependency FROM T;
-- same
WITH s AS (SELECT region, COUNT(*) * 1.0 AS n FROM T GROUP BY region), p AS (SELECT n / SUM(n) OVER () AS p FROM s) SELECT -SUM(p * LN(p)) AS shannon FROM p WHERE p > 0;
-- same
SELECT region, YEAR(d) AS y, SUM(income) AS s, RANK() OVER (PARTITION BY YEAR(d) ORDER BY SUM(income) DESC) AS rk FROM T GROUP BY region, YEAR(d) QUALIFY rk <= 3 ORDER BY y, rk;
-- same
SELECT * EXCLUDE (n) FROM (SELECT region, COUNT(*) AS n, AVG(age) AS a FROM T GROUP BY region);
-- same
SELECT region, 1000.0 * COUNT(*) FILTER (WHERE age >= 65) / COUNT(*) AS per_1000 FROM T GROUP BY region;
-- same
SELECT AVG(age) FROM (SELECT DISTINCT ON (uid) uid, d, age FROM T WHERE d IS NOT NULL ORDER BY 1, 2) AS x;
-- same
SELECT AVG(b) FROM (SELECT DISTINCT ON (1) uid AS u, DATE '2030-01-01' - d AS d, age AS b FROM T WHERE d IS NOT NULL ORDER BY u, d) AS x;
-- refuse S-154 at -
SELECT AVG(b) FROM (SELECT DISTINCT ON (uid) uid, -age AS d, age AS b FROM T ORDER BY uid, DATE '2030-01-01' - d) AS x;

-- Where values are NULL -----------------------------------------------------------------------------------------------

-- same
SELECT b, COUNT(*) FROM (SELECT uid, BOOL_AND(region = 'R1') FILTER (WHERE age > 80) AS b FROM T GROUP BY uid) AS x GROUP BY b;
-- same
SELECT COUNT(*), COUNT(m), AVG(m) FROM (SELECT uid, MEDIAN(income) FILTER (WHERE region = 'R1') AS m FROM T GROUP BY uid) AS x;
-- same
SELECT COUNT(*), COUNT(m) FROM (SELECT uid, VAR_POP(age) FILTER (WHERE region = 'R0') AS m FROM T GROUP BY uid) AS x;
-- same
SELECT COUNT(*), COUNT(m), SUM(m) FROM (SELECT uid, ARG_MAX(age, income) FILTER (WHERE region = 'R3') AS m FROM T GROUP BY uid) AS x;
-- same
SELECT COUNT(*) FROM T WHERE age NOT IN (SELECT age FROM T AS u WHERE u.uid = T.uid AND u.d < T.d);
-- same
SELECT COUNT(*), SUM(c) FROM (SELECT uid, SUM(age) OVER (PARTITION BY uid ORDER BY d ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS c FROM T WHERE d IS NOT NULL) AS x;
-- same
SELECT COUNT(*), COUNT(c) FROM (SELECT uid, AVG(income) OVER (PARTITION BY uid ORDER BY d ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS c FROM T WHERE d IS NOT NULL) AS x;
-- same
SELECT COUNT(T.uid), COUNT(O.uid), COUNT(*), SUM(COALESCE(T.age, O.amt)) FROM T FULL JOIN O ON T.uid = O.uid AND O.amt > 400;
-- same
SELECT AVG(age) FILTER (WHERE income IS NULL), CORR(age, income), COVAR_SAMP(income, age), REGR_COUNT(age, income) FROM T;
-- same
SELECT COUNT(*) FROM T WHERE (age, region) IN ((40, 'R1'), (NULL, 'R2'), (41, NULL));
-- same
SELECT COUNT(*) FROM T WHERE (age, region) NOT IN ((40, 'R1'), (NULL, 'R2'), (41, NULL));
-- same
SELECT s, COUNT(*) FROM T JOIN (VALUES ('R1', NULL), (NULL, 'x'), ('R2', 'y')) AS v(r, s) ON v.r IS NOT DISTINCT FROM T.region GROUP BY s;

-- Mended: each was wrong once ----------------------------------------------------------------------------------------

-- same
SELECT n, COUNT(*) FROM (SELECT uid, COUNT_IF(region = 'R1') AS n FROM T GROUP BY uid) AS x GROUP BY n HAVING COUNT(*) > 0;
-- same
SELECT COUNT(*) FROM (SELECT uid, COUNT_IF(region = 'R1') OVER (PARTITION BY uid) AS n FROM T) AS x WHERE n IS NULL;
-- same
SELECT COUNT(*) FROM T WHERE COALESCE((SELECT COUNT_IF(amt > 100) FROM O WHERE O.uid = T.uid), -1) = -1;

-- same
SELECT region, COUNT(*) AS n FROM T GROUP BY region UNION ALL BY NAME SELECT COUNT(*) AS m, 'all' AS region FROM T;

-- Refused, and what to ask instead -------------------------------------------------------------------------------------

-- refuse A-104 at MODE(region)
-- instead SELECT region, COUNT(*) AS n FROM T GROUP BY region ORDER BY n DESC LIMIT 1
SELECT MODE(region) AS m FROM T;
-- refuse A-104 at ENTROPY(region)
-- instead WITH c AS (SELECT region AS v, COUNT(*) AS n FROM T GROUP BY v), p AS (SELECT n / SUM(n) OVER () AS p FROM c WHERE n > 0) SELECT -SUM(p * LOG2(p)) AS e FROM p
SELECT ENTROPY(region) FROM T;
-- refuse A-104 at PRODUCT(age)
-- instead SELECT SUM(LN(age)) FROM T
SELECT PRODUCT(age) FROM T;
-- refuse A-104 at BIT_AND(age)
-- instead SELECT COUNT_IF((age >> 2) & 1 = 1) FROM T
SELECT BIT_AND(age) FROM T;
-- refuse A-104 at HISTOGRAM(age)
-- instead SELECT age, COUNT(*) AS n FROM T GROUP BY age
SELECT HISTOGRAM(age) FROM T;
-- refuse A-104 at STRING_AGG(region, ',')
-- instead SELECT region, COUNT(*) AS n FROM T GROUP BY region
SELECT STRING_AGG(region, ',') FROM T;
-- refuse A-103 at STRING_AGG(DISTINCT region, ',' ORDER BY region)
-- instead SELECT region, COUNT(*) AS n FROM T GROUP BY region
SELECT STRING_AGG(DISTINCT region, ',' ORDER BY region) FROM T;
-- refuse A-104 at LIST(age)
-- instead SELECT age, COUNT(*) AS n FROM T GROUP BY age
SELECT LIST(age) FROM T;
-- refuse A-104 at ANY_VALUE(age)
-- instead SELECT AVG(age) FROM T
SELECT ANY_VALUE(age) FROM T;
-- refuse A-104 at ARG_MAX(age, income)
-- instead SELECT AVG(age) FROM T
SELECT ARG_MAX(age, income) FROM T;
-- refuse A-104 at WEIGHTED_AVG(income, age)
-- instead SELECT SUM(income * age) / SUM(age) FROM T
SELECT WEIGHTED_AVG(income, age) FROM T;
-- refuse A-104 at STDDEV(DISTINCT age)
-- instead SELECT AVG(DISTINCT age) FROM T
SELECT STDDEV(DISTINCT age) FROM T;
-- refuse A-102 at STRING_AGG(region, ',')
SELECT STRING_AGG(region, ',') FROM (SELECT region, COUNT(*) AS n FROM T GROUP BY region) AS x;
-- refuse A-106 at MODE(region)
-- instead SELECT COUNT(*) FROM (SELECT uid, COUNT_IF(region = 'R1') AS n FROM T GROUP BY uid) AS x WHERE n > 1
SELECT COUNT(*) FROM (SELECT uid, MODE(region) AS r FROM T GROUP BY uid) AS x WHERE r = 'R1';
-- refuse A-106 at FIRST(age)
-- instead SELECT AVG(a) FROM (SELECT uid, FIRST(age ORDER BY d) AS a FROM T GROUP BY uid) AS x
SELECT AVG(a) FROM (SELECT uid, FIRST(age) AS a FROM T GROUP BY uid) AS x;
-- refuse B-112 at GEOMEAN(income)
-- instead SELECT GEOMEAN(GREATEST(income, 1)) FROM T
SELECT GEOMEAN(income) FROM T;
-- refuse B-104 at SUM(uid)
-- instead SELECT SUM(LEAST(GREATEST(uid, 0), 500)) FROM T
SELECT SUM(uid) FROM T;
-- refuse F-120 at MIN(region)
-- instead SELECT region, COUNT(*) FROM T GROUP BY region
SELECT MIN(region) FROM T;
-- refuse F-120 at AVG(age > 40)
-- instead SELECT AVG(CAST(age > 40 AS INTEGER)) FROM T
SELECT AVG(age > 40) FROM T;
-- refuse F-120 at AVG(d)
-- instead SELECT AVG(EPOCH(d)) FROM T
SELECT AVG(d) FROM T;
-- refuse F-120 at age
-- instead SELECT COUNT(DISTINCT region || CAST(age AS VARCHAR)) FROM T
SELECT COUNT(DISTINCT region || age) FROM T;
-- refuse F-121 at age = '40'
-- instead SELECT COUNT(*) FROM T WHERE age = 40
SELECT COUNT(*) FROM T WHERE age = '40';
-- refuse F-103 at (region, age)
-- instead SELECT COUNT(DISTINCT CONCAT(CAST(age AS VARCHAR), ' ', region)) FROM T
SELECT COUNT(DISTINCT (region, age)) FROM T;
-- refuse F-103 at LPAD(SUBSTR(region, 2), 3, '0')
-- instead SELECT RIGHT('000' || SUBSTR(region, 2), 3) AS r, COUNT(*) FROM T GROUP BY r
SELECT LPAD(SUBSTR(region, 2), 3, '0') AS r, COUNT(*) FROM T GROUP BY r;
-- refuse F-103 at STRING_SPLIT(region, 'R')
-- instead SELECT SPLIT_PART(region, 'R', 2) AS k, COUNT(*) FROM T GROUP BY k
SELECT STRING_SPLIT(region, 'R')[2] AS k, COUNT(*) FROM T GROUP BY k;
-- refuse F-103 at AGE(DATE '2025-01-01', d)
-- instead SELECT AVG(DATE_SUB('year', d, DATE '2025-01-01')) FROM T
SELECT AVG(EXTRACT(YEAR FROM AGE(DATE '2025-01-01', d))) FROM T;
-- refuse F-103 at HASH(uid)
-- instead SELECT MD5_NUMBER_LOWER(region) % 2 AS arm, COUNT(*) FROM T GROUP BY arm
SELECT HASH(uid) % 2 AS arm, COUNT(*) FROM T GROUP BY arm;
-- refuse F-103 at d::TIMESTAMP AT TIME ZONE 'Europe/Berlin'
-- instead SELECT COUNT(*) FROM T WHERE d::TIMESTAMP > TIMESTAMP '2023-01-01'
SELECT COUNT(*) FROM T WHERE d::TIMESTAMP AT TIME ZONE 'Europe/Berlin' > TIMESTAMP '2023-01-01';
-- refuse F-101 at FORMAT('{:,}', COUNT(*))
-- instead SELECT LPAD(CAST(COUNT(*) AS VARCHAR), 8, ' ') AS n FROM T
SELECT FORMAT('{:,}', COUNT(*)) AS n FROM T;
-- refuse F-102 at RANDOM()
SELECT COUNT(*) FROM T WHERE RANDOM() < 0.1;
-- refuse A-101 at n
-- instead SELECT region, COUNT(*) AS n FROM T GROUP BY region HAVING n > 3
SELECT region, COUNT(*) AS n FROM T WHERE n > 3 GROUP BY region;
-- refuse N-101 at agee
-- instead SELECT COUNT(age) FROM T
SELECT COUNT(agee) FROM T;
-- refuse N-100 at memory.main.T
-- instead SELECT COUNT(*) FROM T
SELECT COUNT(*) FROM memory.main.T;
-- refuse N-104 at income
-- instead SELECT region, AVG(income) FROM T WHERE region = 'R1' GROUP BY region HAVING COUNT(*) > 0
SELECT region, income FROM T GROUP BY region;
-- refuse N-101 at * EXCLUDE (salary)
-- instead SELECT COUNT(*) FROM (SELECT * EXCLUDE (income) FROM T) AS x
SELECT COUNT(*) FROM (SELECT * EXCLUDE (salary) FROM T) AS x;
-- refuse S-110 at JOIN T b ON a.region = b.region
-- instead SELECT COUNT(*) FROM T a JOIN T b ON a.uid = b.uid AND a.region = b.region
SELECT COUNT(*) FROM T a JOIN T b ON a.region = b.region;
-- refuse S-112 at LEFT JOIN T ON D.region = T.region
-- instead SELECT D.region, COUNT(T.uid) AS n FROM D JOIN T ON D.region = T.region GROUP BY D.region
SELECT D.region, COUNT(T.uid) AS n FROM D LEFT JOIN T ON D.region = T.region GROUP BY D.region;
-- refuse S-115 at ASOF JOIN O ON T.uid = O.uid AND T.income >= O.amt
-- instead SELECT COUNT(*) FROM (SELECT T.uid FROM T JOIN O ON T.uid = O.uid AND T.income >= O.amt QUALIFY ROW_NUMBER() OVER (PARTITION BY T.uid, T.d ORDER BY O.amt DESC) = 1) AS x
SELECT COUNT(*) FROM T ASOF JOIN O ON T.uid = O.uid AND T.income >= O.amt;
-- refuse S-115 at POSITIONAL JOIN O
-- instead SELECT COUNT(*) FROM T JOIN O ON T.uid = O.uid
SELECT COUNT(*) FROM T POSITIONAL JOIN O;
-- refuse S-122 at AVG(income)
-- instead SELECT COUNT(*) FROM T AS t JOIN (SELECT region AS g, AVG(income) AS m FROM T GROUP BY region) AS a ON a.g = t.region WHERE income > m
SELECT COUNT(*) FROM T AS a WHERE income > (SELECT AVG(income) FROM T AS b WHERE b.region = a.region);
-- refuse S-123 at (SELECT uid, MAX(d) FROM T GROUP BY uid)
-- instead SELECT COUNT(*) FROM T WHERE NOT EXISTS (SELECT 1 FROM (SELECT uid, MAX(d) AS d FROM T GROUP BY uid) AS m WHERE m.uid = T.uid AND m.d = T.d)
SELECT COUNT(*) FROM T WHERE (uid, d) NOT IN (SELECT uid, MAX(d) FROM T GROUP BY uid);
-- refuse S-154 at region
-- instead SELECT AVG(age) FROM (SELECT DISTINCT ON (uid, region) uid, age FROM T ORDER BY uid, region, d) AS x
SELECT AVG(age) FROM (SELECT DISTINCT ON (region) uid, age FROM T ORDER BY region, d) AS x;
-- refuse S-151 at T TABLESAMPLE reservoir(10)
-- instead SELECT COUNT(*) FROM T
SELECT COUNT(*) FROM T TABLESAMPLE reservoir(10);
-- refuse S-160 at (SELECT label FROM D WHERE D.region = T.region)
-- instead SELECT label, COUNT(*) FROM (SELECT (SELECT label FROM D WHERE D.region = T.region) AS label FROM T) AS x GROUP BY 1
SELECT (SELECT label FROM D WHERE D.region = T.region) AS label, COUNT(*) FROM T GROUP BY 1;
-- refuse S-101 at T.*
-- instead SELECT COUNT(*) FROM T
SELECT COUNT(T.*) FROM T;
-- refuse S-102
SELECT region FROM D;
-- refuse S-100
-- instead SELECT COUNT(*) FROM T
SELECT * EXCLUDE (age) FROM T;
-- refuse P-132 at T.uid
-- instead SELECT COUNT(*) FROM T JOIN O ON O.uid = T.uid
SELECT COUNT(*) FROM T, LATERAL (SELECT amt FROM O WHERE O.uid = T.uid) AS x;
-- refuse P-106 at PIVOT
-- instead SELECT COUNT(*) FILTER (WHERE region = 'R1') AS r1, COUNT(*) FILTER (WHERE region = 'R2') AS r2 FROM T
PIVOT T ON region USING COUNT(*);
-- refuse P-106 at EXPLAIN
EXPLAIN SELECT COUNT(*) FROM T;
-- refuse P-123
SUMMARIZE T;
-- refuse P-105
-- instead SELECT COUNT(*) FROM T WHERE age > 40
SELECT COUNT(*) FROM T WHERE age > ?;
-- refuse P-100 at SYMMETRIC
SELECT COUNT(*) FROM T WHERE age BETWEEN SYMMETRIC 50 AND 30;
-- refuse F-171
-- instead SELECT region, COUNT(*) FROM T GROUP BY region ORDER BY 2, 1
SELECT region, COUNT(*) FROM T GROUP BY region ORDER BY 3;
-- refuse S-126 at COALESCE(label, 'none')
-- instead SELECT region, COUNT(*) FROM (SELECT COALESCE((SELECT label FROM D WHERE D.region = T.region), 'none') AS region FROM T) AS x GROUP BY region
SELECT l, COUNT(*) FROM (SELECT (SELECT COALESCE(label, 'none') FROM D WHERE D.region = T.region) AS l FROM T) AS x GROUP BY l;
-- refuse S-126 at 1
SELECT SUM(one) FROM (SELECT (SELECT 1 FROM D WHERE D.region = T.region) AS one FROM T) AS x;
-- refuse N-101 at T.all
SELECT region, COUNT(*) FROM T GROUP BY region ORDER BY T.all;
-- refuse N-101 at "all"
SELECT region, COUNT(*) FROM T GROUP BY region ORDER BY "all";
-- refuse P-120 at main.min(region)
SELECT main.min(region), COUNT(*) FROM T GROUP BY region;
-- refuse F-111 at MAX(region := region)
SELECT MAX(region := region), COUNT(*) FROM T GROUP BY region;
-- refuse P-120 at MIN(region) EXPORT_STATE
SELECT MIN(region) EXPORT_STATE, COUNT(*) FROM T GROUP BY region;
-- refuse K-106 at age
SELECT region AS age, GROUPING(age), COUNT(*) FROM T GROUP BY ROLLUP(region);
-- refuse K-106 at T.r
SELECT region AS r, GROUPING(T.r), COUNT(*) FROM T GROUP BY ROLLUP(region);
-- same
SELECT REGR_COUNT(uid, age), REGR_AVGY(age, uid) FROM T;
-- same
SELECT region, label, COUNT(*) AS n FROM T JOIN D USING (region) GROUP BY region, label HAVING COUNT(*) > 0;
