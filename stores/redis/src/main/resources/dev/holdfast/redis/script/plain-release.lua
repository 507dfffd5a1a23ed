-- Ends a grant of the plain or the mixed layout.
--
-- KEYS  1 the string, 2 the record
-- ARGV  1 see record.lua; of the claim: 2 id, 3 lease, 4 repeated. The id of another program's lock, as inspection
--       reports it, is foreign-SHA1.0 of its text
-- Reply an integer: 1 it held, 0 not
-- Cost  O(1), 2 commands if it is a string that was asked for once; else O(grants) when one may be over
local text = redis.call('GET', KEYS[1])
local head = 'holdfast1 ' .. ARGV[2] .. ' '
local found = text and (string.sub(text, 1, #head) == head
  or string.sub(ARGV[2], 1, 8) == 'foreign-' and ARGV[2] == 'foreign-' .. redis.sha1hex(text) .. '.0')
if found and ARGV[4] == '0' then
  redis.call('DEL', KEYS[1])
  return 1
end
-- include record.lua
local c, r = { id = ARGV[2], lease = tonumber(ARGV[3]), repeated = ARGV[4] }, open(KEYS[2])
settle(r)
if found then
  redis.call('DEL', KEYS[1])
else
  local granted = redis.call('HGET', r.key, c.id)
  if granted then
    local g = grant_of(r, granted)
    redis.call('HDEL', r.key, c.id)
    r.granted, r.changed, found = r.granted - g.permits, true, true
    if r.granted == 0 then
      r.ends = NEVER
    end
  end
end
if not found or c.repeated == '1' then
  bury(r, c)
end
close(r, c.lease + ticket)
return found and 1 or 0
