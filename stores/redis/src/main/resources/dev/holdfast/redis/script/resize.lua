-- Included by the scripts that acquire.
-- Shrinks the grant of a claim that asks for fewer permits than it holds. Returns nil if the grant cannot be
-- changed to what the claim asks for.
local function resize(r, g, c)
  if c.permits > g.permits or c.limit ~= r.limit then
    return nil
  end
  local fewer = g.permits - c.permits
  g.permits = c.permits
  -- Written also if it is unchanged: newer servers count acknowledgements from the last write of the connection, so
  -- that WAIT after a call that has written nothing would confirm an older one.
  put_grant(r, c.id, g)
  if fewer > 0 then
    r.granted, r.changed, r.done = r.granted - fewer, true, true
    admit(r)
  end
  return g
end
