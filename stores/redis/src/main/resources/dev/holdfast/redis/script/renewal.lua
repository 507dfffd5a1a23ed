-- Included by the scripts that renew, and by enqueue.lua: what they do for a claim that holds or waits.

local function extend(r, g, c)
  local sole = r.granted == g.permits
  g.ends = math.max(g.ends, now + c.lease * 1000)
  g.lease, g.repeated, g.owner = c.lease, c.repeated, c.owner
  put_grant(r, c.id, g)
  if sole then
    r.ends, r.changed = g.ends, true
  else
    prolong(r, c.lease + ticket)
  end
end

-- How many wait before this one and are not skipped, counted up to NEAR. Behind many skipped ones it is NEAR. The first
-- one has nobody before it, so its place need not be read; that of a new one is known.
local function position(r, id, before)
  local NEAR = 8 -- positions are counted up to this one, as dev.holdfast.spi.Renewed.Waiting says
  local WALK = 64 -- and no further back than this, if those between are skipped
  local count, steps = 0, 0
  before = before or (id ~= r.front and place(r, id)) or '-'
  while id ~= r.front and before ~= '-' and count < NEAR do
    steps = steps + 1
    if steps > WALK then
      return NEAR
    end
    local f = redis.call('HMGET', r.key, '>' .. before, '@' .. before)
    local ends = tonumber(string.match(f[1] or '', '^%d+'))
    if ends and ends > now then
      id = before
      before = string.match(f[2] or '', '^%S+') or foreign(r, '@' .. before .. ' is missing')
      count = string.sub(f[2] or '', -1) == '1' and count or count + 1
    else
      queue().remove(r, before)
      before = place(r, id)
    end
  end
  return count
end

-- Extends a grant or refreshes a ticket. Returns a code and two numbers: 1 held (counter, what is left in
-- microseconds), 2 waiting (position, microseconds until the first grant ends), 8 waiting, too, but it was skipped and
-- nobody is subscribed to its channel at this server, 5 gone (0 expired, 1 taken, 2 released).
local function renew(r, c)
  if r.grant then
    local g = grant_of(r, r.grant)
    extend(r, g, c)
    return 1, g.counter, g.ends - now
  end
  local w = live_waiter(r.waiter)
  if w then
    w.ends, w.lease, w.repeated, w.owner = now + ticket * 1000, c.lease, c.repeated, c.owner
    redis.call('HSET', r.key, '>' .. c.id, waiter_text(w))
    prolong(r, c.lease + ticket)
    return r.unreachable and 8 or 2, position(r, c.id), until_first(r)
  end
  if r.waiter then -- Its ticket is over.
    queue().remove(r, c.id)
  end
  if has_tombstone(r, c.id) then
    return 5, 2, 0
  end
  if r.granted > 0 and (r.limit ~= c.limit or c.permits > c.limit - r.granted) then
    return 5, 1, 0
  end
  return 5, 0, 0
end
