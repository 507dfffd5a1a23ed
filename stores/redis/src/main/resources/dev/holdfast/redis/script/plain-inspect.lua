-- Returns all that is known of a resource of the plain or the mixed layout.
--
-- KEYS  1 the string, 2 the record
-- ARGV  see record.lua; no claim
-- Reply {counter, limit, now, {id, grant, ...}, {}, {}, {text, ms left, SHA-1 of the text}}: as inspect.lua, and the
--       string if there is one; -1 ms left if it has no end
-- Cost  O(grants)
-- include record.lua
local text, r = redis.call('GET', KEYS[1]), open(KEYS[2])
local held = text and { text, redis.call('PTTL', KEYS[1]), redis.sha1hex(text) } or {}
settle(r)
close(r, ticket)
local grants = {}
if r.granted > 0 then
  local fields = redis.call('HGETALL', r.key)
  for i = 1, #fields, 2 do
    if string.find(fields[i], GRANT) then
      grants[#grants + 1] = fields[i]
      grants[#grants + 1] = fields[i + 1]
    end
  end
end
return { r.counter, r.limit, now, grants, {}, {}, held }
