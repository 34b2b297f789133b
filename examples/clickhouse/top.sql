SELECT f.name AS name, sum(s.alloc_space) AS bytes
FROM file('samples.arrow') AS s
JOIN file('stacks.arrow') AS k ON k.stack_id = s.stack_id
JOIN file('locations.arrow') AS l ON l.location_id = k.location_ids[1]
JOIN file('functions.arrow') AS f ON f.function_id = tupleElement(l.lines[1], 'function_id')
GROUP BY name ORDER BY bytes DESC, name LIMIT 10
FORMAT CSV
