-- Grants the claim now or not at all.
--
-- KEYS  1 the record
-- ARGV  see record.lua; one claim
-- Reply an integer: granted for the whole lease, and this is the counter
--       or {9, counter, left in us}       granted by this call
--          {1, counter, left in us}       already held
--          {0, us until the first end, 0} busy; nothing was granted
--          {3, limit in use, 0}           in use as another kind
--          {4, permits held, limit}       already holds fewer permits than it asks for
--       each followed by id, counter, lease in ms of the caller's waiters that this call granted
-- Cost  O(1), 3 commands on a free name or on one that is held whole; O(grants + waiters) when a grant may be over
-- include acquire-uncontended.lua
-- include acquire-busy.lua
-- include record.lua
-- include resize.lua
local c, r = claim_at(1), open(KEYS[1], ARGV[2], state)
settle(r)
local code, a, b
if r.grant then
  local held = grant_of(r, r.grant)
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
  code, a, b = 9, grant(r, c.id, c, c.lease), c.lease * 1000
end
close(r, c.lease + ticket)
return answer(code, a, b)
