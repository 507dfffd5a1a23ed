-- Ends holding and waiting, grants to the next waiters that fit, and publishes the grants on their clients'
-- channels.
--
-- KEYS  1 the record
-- ARGV  1 see record.lua; of the claim: 2 id, 3 lease, 4 repeated
-- Reply an integer: 1, it held, and no claim waits
--       or {1 found or 0 not, 0, 0} followed by id, counter, lease in ms of the caller's waiters that this call
--       granted
-- Cost  O(1), 3 commands if no other claim waits or holds; 7 commands if it held all permits and the next waiter wants
--       all of them, too; else more, for each waiter that is granted, skipped or over, and O(grants + waiters) if a grant may be over
local sole = ARGV[4] == '0' and redis.call('HMGET', KEYS[1], ARGV[2], 'use', 'queue')
if sole and sole[1] and sole[2] then
  local ends, permits = string.match(sole[1], '^(%d+) (%d+) ')
  local granted, limit, waiting = string.match(sole[2], '^(%d+) (%d+) %d+ (%d+) 0$')
  if permits and permits == granted then
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    if tonumber(ends) > now then
      if waiting == '0' then
        redis.call('HDEL', KEYS[1], ARGV[2], 'use')
        return 1
      end
      -- include release-handoff.lua
    end
  end
end
-- include record.lua
local c, r = { id = ARGV[2], lease = tonumber(ARGV[3]), repeated = ARGV[4] }, open(KEYS[1])
settle(r)
local found = 0
local text = redis.call('HGET', r.key, c.id)
if text then
  local g = grant_of(r, text)
  redis.call('HDEL', r.key, c.id)
  r.granted, r.changed, found = r.granted - g.permits, true, 1
  if r.granted == 0 then
    r.ends = NEVER
  end
else
  local w = r.waiting > 0 and waiter(r, c.id)
  if w then
    remove_waiter(r, c.id)
    found = 1
    if w.channel ~= channel then
      publish(w.channel, 'ended ' .. c.id)
    end
  end
end
if found == 0 or c.repeated == '1' then
  bury(r, c)
end
admit(r)
close(r, c.lease + ticket)
return answer(found, 0, 0)
