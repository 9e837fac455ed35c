-- What may be a series, and what must happen to the rest: the code of the refusal and its place.
-- ok
SELECT d, COUNT(*) FROM t GROUP BY d;
SELECT d, COUNT(age) AS known FROM t WHERE age > 20 AND flag GROUP BY d;
SELECT d, SUM(age) FROM t GROUP BY 1;
SELECT d AS day, SUM(income) FROM t WHERE region IN ('R0', 'R1') GROUP BY day;
SELECT d, SUM(age - 20) FROM t GROUP BY d;
SELECT d, COUNT(*) FILTER (WHERE flag) FROM t GROUP BY d;
SELECT CAST(ts AS DATE), COUNT(*) FROM t GROUP BY CAST(ts AS DATE);
SELECT d, COUNT(*) FROM t WHERE d >= DATE '2020-02-01' GROUP BY d;
-- refuse K-130 1:41
SELECT region, COUNT(*) FROM t GROUP BY region;
-- refuse K-130 1:37
SELECT ts, COUNT(*) FROM t GROUP BY ts;
-- refuse K-130 1:8
SELECT d, COUNT(*) FROM t;
-- refuse K-130 1:8
SELECT d, COUNT(*) FROM t GROUP BY ALL;
-- refuse K-130 1:8
SELECT d, COUNT(*) FROM t GROUP BY CUBE (d);
-- refuse K-130 1:39
SELECT d, COUNT(*) FROM t GROUP BY d, region;
-- refuse A-130 1:11
SELECT d, AVG(age) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, MAX(age) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, MEDIAN(age) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, COUNT(DISTINCT uid) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, COUNT(DISTINCT note) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, SUM(DISTINCT age) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d;
-- refuse A-130 1:11
SELECT d, d FROM t GROUP BY d;
-- refuse A-130 1:20
SELECT d, COUNT(*) + 1 FROM t GROUP BY d;
-- refuse A-130 1:20
SELECT COUNT(*),   d FROM t GROUP BY d;
-- refuse S-170 1:19
SELECT d, region, COUNT(*) FROM t GROUP BY d, region;
-- refuse S-170 1:19
SELECT d, SUM(x), COUNT(*) FROM t GROUP BY d;
-- refuse S-170 1:8
SELECT COUNT(*) FROM t;
-- refuse S-170 1:17
SELECT DISTINCT d, COUNT(*) FROM t GROUP BY d;
-- refuse S-170 1:46
SELECT d, COUNT(*) FROM t GROUP BY d HAVING  COUNT(*) > 3;
-- refuse S-170 1:46
SELECT d, COUNT(*) FROM t GROUP BY d QUALIFY COUNT(*) > 3;
-- refuse S-170 1:47
SELECT d, COUNT(*) FROM t GROUP BY d ORDER BY d;
-- refuse S-170 1:47
SELECT d, COUNT(*) FROM t GROUP BY d LIMIT    3;
-- refuse S-170 1:27
SELECT d, COUNT(*) FROM t JOIN dim ON t.region = dim.region GROUP BY d;
-- refuse S-170 1:25
SELECT d, COUNT(*) FROM (SELECT * FROM t) AS s GROUP BY d;
-- refuse S-170 1:26
WITH s AS (SELECT * FROM t) SELECT d, COUNT(*) FROM s GROUP BY d;
-- refuse S-170 1:25
SELECT d, COUNT(*) FROM t GROUP BY d UNION ALL SELECT d, COUNT(*) FROM t GROUP BY d;
-- refuse S-171 1:33
SELECT d, COUNT(*) FROM t WHERE d > CURRENT_DATE - 7 GROUP BY d;
-- refuse S-172 1:33
SELECT d, COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid) GROUP BY d;
-- refuse S-172 1:40
SELECT d, COUNT(*) FROM t WHERE uid IN (SELECT uid FROM o) GROUP BY d;
-- refuse S-172 1:39
SELECT d, COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t) GROUP BY d;
-- refuse S-172 1:43
SELECT d, COUNT(*) FROM t WHERE region IN (SELECT region FROM dim) GROUP BY d;
-- refuse F-120 1:11
SELECT d, SUM(note) FROM t GROUP BY d;
-- refuse S-151 1:25
SELECT d, COUNT(*) FROM t TABLESAMPLE 10% GROUP BY d;
