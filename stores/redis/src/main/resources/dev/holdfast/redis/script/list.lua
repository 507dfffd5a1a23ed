-- Finds the names in use among those of some records. Changes nothing.
--
-- KEYS  the keys, which may also belong to other programs
-- Reply the keys of the records in use
-- Cost  O(keys), and O(grants + waiters) of a record of which one grant may be over
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Whether a claim holds or waits.
local function is_in_use(key, granted, first)
  if granted > 0 and first > now then
    return true
  end
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local ends = string.find(fields[i], '^[^@!].*%.') and string.match(fields[i + 1], '^(%d+) ')
    if ends and tonumber(ends) > now then
      return true
    end
  end
  return false
end

local found = {}
for _, key in ipairs(KEYS) do
  local use = redis.pcall('HGET', key, 'use')
  -- A key of another type, or with another text in this field, belongs to another program.
  local granted, first = string.match(type(use) == 'string' and use or '', '^(%d+) %d+ (%d+) %d+ %d+$')
  if granted and is_in_use(key, tonumber(granted), tonumber(first)) then
    found[#found + 1] = key
  end
end
return found
