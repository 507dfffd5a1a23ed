-- Included by record.lua, inside a function: the waiters of a record, and the transitions that remove or grant some of
-- them.
local MAX_TOMBS = 1000
local commands = {} -- for each channel the command that publishes on it, or false if nobody is subscribed

-- Returns nil if there is none, or if its ticket is over.
local function waiter(r, id)
  return live_waiter(redis.call('HGET', r.key, '>' .. id))
end

local function put_place(r, id, ...)
  redis.call('HSET', r.key, '@' .. id, place_text(...))
end

-- Counts the steps of a walk along the queue, which another program may have made a ring.
local function counted(r, steps)
  if steps >= r.waiting then
    foreign(r, 'queue has no end')
  end
  return steps + 1
end

-- Returns the first waiter, from this one on, that is not skipped.
local function unskipped(r, id)
  local steps = 0
  while id ~= '-' and r.skipped > 0 do
    steps = counted(r, steps)
    local _, after, skipped = place(r, id)
    if not skipped then
      break
    end
    id = after
  end
  return id
end

-- Everything is read, and compared, before anything is written.
local function remove_waiter(r, id)
  local before, after, skipped = place(r, id)
  local first, own, other, mine, last, another
  if id ~= r.front then
    first, own, other = place(r, before)
    if after ~= '-' then
      mine, last, another = place(r, after)
    end
  end
  local next = id == r.next and unskipped(r, after) or r.next
  if (own or id) ~= id or (mine or id) ~= id or (skipped and r.skipped == 0)
    or (r.waiting == 1) ~= (id == r.front and after == '-') or (id == r.back) ~= (after == '-')
  then
    foreign(r, 'the places beside ' .. id .. ' in the queue do not fit')
  end
  redis.call('HDEL', r.key, '>' .. id, '@' .. id)
  r.waiting, r.changed, r.next = r.waiting - 1, true, next
  if skipped then
    r.skipped = r.skipped - 1
  end
  if id == r.front then
    r.front, before = after, '-'
  else
    put_place(r, before, first, after, other)
    if after ~= '-' then
      put_place(r, after, before, last, another)
    end
  end
  if id == r.back then
    r.back = before
  end
end

-- Keeps the tombstones that end last, if there are too many.
local function sweep_tombs(r, tombs)
  table.sort(tombs, function(a, b) return a.ends > b.ends end)
  local live = 0
  for i, tomb in ipairs(tombs) do
    if tomb.ends <= now or (#tombs > MAX_TOMBS and i > MAX_TOMBS / 2) then
      redis.call('HDEL', r.key, tomb.field)
    else
      live = live + 1
    end
  end
  r.tombs = live > 0 and tombs[1].ends or 0
  if live > 0 then
    redis.call('HSET', r.key, 'graves', live)
  else
    redis.call('HDEL', r.key, 'graves')
  end
end

-- Removes all that is over and counts again. It reads the whole record.
local function sweep(r)
  local fields, over, expired, tombs = redis.call('HGETALL', r.key), {}, {}, {}
  local granted, ends = 0, 2 ^ 53
  for i = 1, #fields, 2 do
    local field, text = fields[i], fields[i + 1]
    local kind = string.sub(field, 1, 1)
    if kind == '!' then
      local tomb_ends = tonumber(text)
      tombs[#tombs + 1] = { field = field, ends = tomb_ends and tomb_ends <= 2 ^ 53 and tomb_ends or 0 }
    elseif kind == '>' then
      local w = waiter_of(text)
      if not w or w.ends <= now then
        expired[#expired + 1] = string.sub(field, 2)
      end
    elseif string.find(field, '^[^>@!].*%.') then
      local g = grant_of(r, text)
      if g.ends <= now then
        over[#over + 1] = field
      else
        granted, ends = granted + g.permits, math.min(ends, g.ends)
      end
    end
  end
  r.granted, r.ends, r.changed = granted, ends, true
  for _, id in ipairs(over) do
    redis.call('HDEL', r.key, id)
  end
  for _, id in ipairs(expired) do
    remove_waiter(r, id)
  end
  sweep_tombs(r, tombs)
end

-- include subscribers.lua

local function has_subscriber(to)
  if commands[to] == nil then
    commands[to] = subscribers(to) or false
  end
  return commands[to] and true
end

-- Publishes a text at the end of the script, if the channel has a subscriber.
local function publish(to, text)
  if has_subscriber(to) then
    outbox = outbox or {}
    for _, word in ipairs({ commands[to], to, text }) do
      outbox[#outbox + 1] = word
    end
  end
end

-- A waiter whose client is not subscribed keeps its place, and is passed over.
local function skip(r, id)
  local before, after = place(r, id)
  put_place(r, id, before, after, true)
  r.skipped, r.changed = r.skipped + 1, true
  r.next = unskipped(r, after)
end

-- Grants to waiters in their order while they fit. Afterwards the next waiter is alive, or nothing more can be granted.
local function admit(r)
  while r.next ~= '-' and r.granted < r.limit do
    local id = r.next
    local w = waiter(r, id)
    if not w then
      remove_waiter(r, id)
    elseif w.permits > r.limit - r.granted then
      return
    else
      local life = math.min(ticket, w.lease)
      if w.channel ~= channel and not has_subscriber(w.channel) then
        skip(r, id)
      else
        remove_waiter(r, id)
        local counter = grant(r, id, w, life)
        if w.channel == channel then
          handed[#handed + 1] = id
          handed[#handed + 1] = counter
          handed[#handed + 1] = life
        else
          publish(w.channel, string.format('granted %s %d %d', id, counter, life))
        end
      end
    end
  end
end

-- A waiter that asks shows that its client is alive, so none of that client's waiters is skipped any longer. All of them
-- come back at once; otherwise a later one that asks first would be served before an earlier one. So do those of other
-- clients that are subscribed again, which saves a walk for each of these clients.
local function revive(r, client_channel)
  local id, left, next, steps = r.front, r.skipped, '-', 0
  while id ~= '-' and left > 0 do
    steps = counted(r, steps)
    local before, after, skipped = place(r, id)
    if skipped then
      left = left - 1
      local w = waiter(r, id)
      if w and (w.channel == client_channel or has_subscriber(w.channel)) then
        put_place(r, id, before, after, false)
        r.skipped, r.changed, skipped = r.skipped - 1, true, false
      end
    end
    if not skipped and next == '-' then
      next = id
    end
    id = after
  end
  r.next = next == '-' and r.next or next
end

-- The waiter that asks may have moved to the caller's channel.
local function update_asking(r, asking, moves)
  local w = waiter(r, asking)
  if not w then
    return
  end
  if moves and w.channel ~= channel then
    w.channel = channel
    redis.call('HSET', r.key, '>' .. asking, waiter_text(w))
  end
  local _, _, skipped = place(r, asking)
  if skipped then
    revive(r, w.channel)
    r.unreachable = not has_subscriber(w.channel)
  end
end

local function settle(r, over, asking, moves)
  if over then
    sweep(r)
  end
  -- Waiters that are over must not keep a name in use.
  while r.granted == 0 and r.front ~= '-' and not waiter(r, r.front) do
    remove_waiter(r, r.front)
  end
  if asking and (moves or r.skipped > 0) then
    update_asking(r, asking, moves)
  end
  admit(r)
end

