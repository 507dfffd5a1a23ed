-- Ends holding and waiting, grants to the next waiters that fit, and publishes the grants on their clients'
-- channels.
--
-- KEYS  1 the record
-- ARGV  1 see record.lua; of the claim: 2 id, 3 lease, 4 absent, or 1 to leave a tombstone also if the claim is found, or 0
--       to leave none even if it is not
-- Reply an integer: 1, it held, and no claim waits
--       or {1 found or 0 not, 0, 0} followed by id, counter, lease in ms of the caller's waiters that this call
--       granted
-- Cost  O(1), 3 commands if no other claim waits or holds; 8 commands if it held all permits and the next waiter wants
--       all of them, too; else more, for each waiter that is granted, skipped or over, and O(grants + waiters) if a grant may be over
local use, clock = redis.call('HGET', KEYS[1], 'use')
if use and not ARGV[4] then
  clock = redis.call('TIME')
  local now = clock[1] * 1000000 + clock[2]
  local ends = string.match(use, '^1 1 (%d+) 0 0$')
  if ends and ends - now > 0 then
    -- A mutex that nobody waits for. If it is this claim that holds it, the record has both fields; else 'use' is put
    -- back, which costs less than to read the grant first.
    if redis.call('HDEL', KEYS[1], 'use', ARGV[2]) == 2 then
      return 1
    end
    redis.call('HSET', KEYS[1], 'use', use)
  else
    -- include release-handoff.lua
  end
end
-- The first write needs no memory; see renew.lua.
redis.call('HDEL', KEYS[1], '-')
-- include record.lua
-- include tombstone.lua
local c, r = { id = ARGV[2], lease = tonumber(ARGV[3]) }, open(KEYS[1], ARGV[2])
settle(r)
local found = 0
if r.grant then
  local g = grant_of(r, r.grant)
  redis.call('HDEL', r.key, c.id)
  r.granted, r.changed, r.done, found = r.granted - g.permits, true, true, 1
  if r.granted == 0 then
    r.ends = 2 ^ 53
  end
else
  local w = live_waiter(r.waiter)
  if w then
    queue().remove(r, c.id)
    r.done, found = true, 1
    if w.channel ~= channel then
      queue().publish(w.channel, 'ended ' .. c.id)
    end
  end
end
if ARGV[4] ~= '0' and (found == 0 or ARGV[4]) then
  put_tombstone(r, c)
end
admit(r)
close(r, c.lease + ticket)
return answer(found, 0, 0)
