-- Grants the claim now or not at all, as one node of a quorum: as acquire.lua, but the caller has a say in the counter, and
-- the answer says since when this server has kept its data.
--
-- The mark is 'replid since'. A server takes a new replication id when its process starts and whenever a replica becomes a
-- primary, so the id agrees only if the process is the same and the server has been the primary all the time; and the mark is
-- gone if all keys were deleted. Else data may be lost, and the mark is written anew. A replica has the id of its primary, whose
-- mark it copies, so its own age is always 0.
--
-- KEYS  1 the record, 2 the mark
-- ARGV  see record.lua; one claim; then the counter that the caller would like, how far it may be from this server's clock
--       (us), and 1 if it is one that another node has given, which is neither changed nor gone below, also by a grant that
--       the claim holds already
-- Reply {since, age in us, what acquire.lua replies, the replication id, which is empty at a replica}
-- Cost  as acquire.lua, and 2 commands
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local info = redis.call('INFO', 'replication')
local server = string.match(info, 'role:master') and string.match(info, 'master_replid:(%x+)')
local known, kept_since = string.match(redis.call('GET', KEYS[2]) or '', '^(%x+) (%d+)$')
if not server or known ~= server then
  kept_since = string.format('%d', now)
  redis.call('SET', KEYS[2], (server or '-') .. ' ' .. kept_since)
end
kept_since = kept_since + 0
local age = math.max(0, now - kept_since)

local wanted, raise = ARGV[8] + 0, ARGV[10] == '1'
if not raise then
  wanted = math.min(math.max(wanted, now - ARGV[9]), now + ARGV[9])
end

-- Most names are free. As in acquire.lua, the functions of record.lua are not even created then.
local state = redis.call('HMGET', KEYS[1], 'use', 'kept', 'counter')
local last = tonumber(state[3] or 0)
if not state[1] and ARGV[4] ~= '0' and last and last <= 2 ^ 53 then
  local counter = math.max(last + 1, wanted)
  -- include grant-uncontended.lua
  return { kept_since, age, counter, server or '' }
end

-- include record.lua
-- include resize.lua

local function counter_for(r)
  return math.max((tonumber(r.counter) or 0) + 1, wanted)
end

local function raised(r, id, g)
  if raise and g.counter < wanted then
    g.counter = wanted
    r.counter, r.changed = string.format('%d', math.max(r.counter + 0, wanted)), true
    put_grant(r, id, g)
  end
end

local c, r = claim_at(1), open(KEYS[1], ARGV[2], state)
settle(r)
local code, a, b
if r.grant then
  local held = grant_of(r, r.grant)
  raised(r, c.id, held)
  local g = resize(r, held, c)
  if g then
    code, a, b = 1, g.counter, g.ends - now
  else
    code, a, b = 4, held.permits, r.limit
  end
elseif not is_free(r) and r.limit ~= c.limit then
  code, a, b = 3, r.limit, 0
elseif has_tombstone(r, c.id) or not fits(r, c) then
  code, a, b = 0, until_first(r), 0
else
  r.limit = c.limit
  code, a, b = 9, grant(r, c.id, c, c.lease, counter_for(r)), c.lease * 1000
end
close(r, c.lease + ticket)
return { kept_since, age, answer(code, a, b), server or '' }
