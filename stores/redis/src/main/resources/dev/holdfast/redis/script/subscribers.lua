-- Included by the scripts that notify a waiter. Asks before anything is published. A message that finds no subscriber
-- at the primary still reaches those of a replica, so counting whom it has reached comes too late: the waiter would
-- believe in a grant that went to the next one.
--
-- Returns the command that reaches the subscriber of a channel at this server, or nil if there is none. A channel that
-- ends with a brace is in the slot of its record. Nodes without sharded channels have plain ones, and count only the
-- subscribers at this node; so the clients of such a node subscribe at this node. If the user may not ask, the waiter
-- gets the grant in any case: it learns of it when it asks.
local function subscribers(to)
  local sharded = string.sub(to, -1) == '}'
  local count = sharded and redis.pcall('PUBSUB', 'SHARDNUMSUB', to)
  if count and count[2] and count[2] > 0 then
    return 'SPUBLISH'
  end
  count = redis.pcall('PUBSUB', 'NUMSUB', to)
  if count.err then
    return sharded and 'SPUBLISH' or 'PUBLISH'
  end
  return count[2] > 0 and 'PUBLISH' or nil
end
