-- Grants the claim now or not at all, as one node of a quorum: as acquire.lua, but the caller has a say in the counter, and
-- the answer says since when this server has kept its data.
--
-- The mark is 'run_id replid2 since'. It agrees with the server only if neither the process was restarted, nor the server was
-- a replica in between, nor all keys were deleted, since the mark was written. Else data may be lost, and the mark is
-- written anew.
--
-- KEYS  1 the record, 2 the mark
-- ARGV  see record.lua; one claim; then the counter that the caller would like, how far it may be from this server's clock
--       (us), and 1 if it is one that another node has given, which is neither changed nor gone below, also by a grant that
--       the claim holds already
-- Reply {since, age in us, {code, a, b}}; code, a and b as in acquire.lua, also with the caller's waiters that were granted
-- Cost  as acquire.lua, and 3 commands
local clock = redis.call('TIME')
-- include record.lua
-- include resize.lua

local function kept_since()
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local before = string.match(redis.call('INFO', 'replication'), 'master_replid2:(%x+)')
  local server = run .. ' ' .. before
  local text = redis.call('GET', KEYS[2])
  local known, since = string.match(text or '', '^(%x+ %x+) (%d+)$')
  if known ~= server then
    since = string.format('%d', now)
    redis.call('SET', KEYS[2], server .. ' ' .. since)
  end
  return since + 0
end

local wanted, tolerance, raise = ARGV[8] + 0, ARGV[9] + 0, ARGV[10] == '1'
if not raise then
  wanted = math.min(math.max(wanted, now - tolerance), now + tolerance)
end

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

local since = kept_since()
local c, r = claim_at(1), open(KEYS[1], ARGV[2])
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
elseif is_buried(r, c.id) or not fits(r, c) then
  code, a, b = 0, until_first(r), 0
else
  r.limit = c.limit
  code, a, b = 1, grant(r, c.id, c, c.lease, counter_for(r)), c.lease * 1000
end
close(r, c.lease + ticket)
return { since, math.max(0, now - since), answer(code, a, b) }
