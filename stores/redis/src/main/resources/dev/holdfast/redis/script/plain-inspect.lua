-- Returns all that is known of a resource of the layouts of the plain package.
--
-- KEYS  1 the lock (FORM), 2 the record
-- ARGV  see record.lua; no claim
-- Reply {counter, limit, now, {id, grant, ...}, {}, {}, {text, ms left, SHA-1 of the text}}: as inspect.lua, and the
--       text of the lock if it is not free; -1 ms left if it has no end
-- Cost  O(grants)
-- include whole-numbers.lua
local clock
-- include record.lua
-- include plain-FORM.lua
local text, r = look(KEYS[1], KEYS[2]), open(KEYS[2])
local held = text and { text, millis_left(KEYS[1], KEYS[2]), redis.sha1hex(text) } or {}
settle(r)
close(r, ticket)
local grants = {}
if r.granted > 0 then
  local fields = redis.call('HGETALL', r.key)
  for i = 1, #fields, 2 do
    if string.find(fields[i], '^[^>@!].*%.') then
      grants[#grants + 1] = fields[i]
      grants[#grants + 1] = fields[i + 1]
    end
  end
end
return { r.counter + 0, r.limit, now, grants, {}, {}, held }
