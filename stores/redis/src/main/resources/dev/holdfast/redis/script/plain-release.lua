-- Ends a grant of the layouts of the plain package.
--
-- KEYS  1 the lock (FORM), 2 the record
-- ARGV  1 see record.lua; of the claim: 2 id, 3 lease, 4 repeated; of a hash also 5 the command that publishes, 6 the
--       channel. The id of another program's lock, as inspection reports it, is foreign-SHA1.0 of its text
-- Reply an integer: 1 it held, 0 not
-- Cost  O(1), 2 commands if it is a lock that was asked for once, 3 of a hash; else O(grants) when one may be over
-- include plain-end-FORM.lua
local found, field = is_held(ARGV[2])
if found and ARGV[4] == '0' then
  finish(field)
  return 1
end
-- The first write needs no memory; see renew.lua.
redis.call('HDEL', KEYS[2], '-')
local clock
-- include record.lua
-- include tombstone.lua
local c, r = { id = ARGV[2], lease = tonumber(ARGV[3]), repeated = ARGV[4] }, open(KEYS[2], ARGV[2])
settle(r)
if found then
  finish(field)
  r.done = true
else
  if r.grant then
    local g = grant_of(r, r.grant)
    redis.call('HDEL', r.key, c.id)
    r.granted, r.changed, r.done, found = r.granted - g.permits, true, true, true
    if r.granted == 0 then
      r.ends = 2 ^ 53
    end
  end
end
if not found or c.repeated == '1' then
  put_tombstone(r, c)
end
close(r, c.lease + ticket)
return found and 1 or 0
