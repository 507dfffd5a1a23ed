-- Included by the forms of a lock (plain-string.lua, plain-hash.lua, plain-stamp.lua): the text of a grant, which is
--   'holdfast1 ID COUNTER SINCE ENDS LEASE\nOWNER'
-- ENDS is the planned end of the grant when its terms (lease, owner) were last written; it grows each time. The time to
-- live of the lock's key returns when the grant really ends.
local HEAD = '^holdfast1 (%S+) (%d+) (%d+) (%d+) (%d+)\n(.*)$'

-- Returns nil if another program wrote the text.
local function plain_of(text)
  local id, counter, since, ends, lease, owner = string.match(text, HEAD)
  return id and math.max(counter, since, ends, lease) <= 2 ^ 53 and { id = id, counter = tonumber(counter), since = tonumber(since), ends = tonumber(ends), lease = tonumber(lease),
    owner = owner }
end

local function plain_text(p)
  return string.format('holdfast1 %s %.0f %.0f %.0f %.0f\n%s', p.id, p.counter, p.since, p.ends, p.lease, p.owner)
end
