-- Acquires several grants now, all or none.
--
-- KEYS  the record of each claim, all different
-- ARGV  see record.lua; as many claims as keys, at most 64
-- Reply {9, {counter, left in us, for each claim}, handed}  all were granted by this call
--       {1, {counter, left in us, for each claim}, handed}  all hold, and some did so already
--       {0, {us until the first end}, handed}               one is busy; nothing was granted
--       {3, {index, limit in use}, handed}                  one is in use as another kind
--       {4, {index, permits held, limit}, handed}           one already holds fewer permits than it asks for
--       handed: id, counter, lease in ms of the caller's waiters that this call granted
-- Cost  the sum of as many acquires
local clock
-- include record.lua
-- include resize.lua
local claims, records, held = {}, {}, {}
local code, result = 9, {}
for i = 1, #KEYS do
  local c = claim_at(i)
  local r = open(KEYS[i], c.id)
  claims[i], records[i] = c, r
  settle(r)
  close(r, ticket) -- complete, because the next record may turn out to be foreign
  held[i] = r.grant and grant_of(r, r.grant)
  if held[i] then
    code = 1
    if c.permits > held[i].permits or c.limit ~= r.limit then
      code, result = 4, { i, held[i].permits, r.limit }
    end
  elseif not is_free(r) and r.limit ~= c.limit then
    code, result = 3, { i, r.limit }
  elseif has_tombstone(r, c.id) or not fits(r, c) then
    code, result = 0, { until_first(r) }
  end
  if code ~= 9 and code ~= 1 then
    break
  end
end
for i = 1, #records do
  local c, r = claims[i], records[i]
  if code == 9 or code == 1 then
    if held[i] then
      local g = resize(r, held[i], c)
      result[i * 2 - 1], result[i * 2] = g.counter, g.ends - now
    else
      r.limit = c.limit
      result[i * 2 - 1], result[i * 2] = grant(r, c.id, c, c.lease), c.lease * 1000
    end
  end
  close(r, c.lease + ticket)
end
return { code, result, handed }
