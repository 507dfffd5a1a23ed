---------------------------- MODULE QuorumLease ----------------------------
(* How long a client may believe that it holds a lock at several nodes: leases, renewals, nodes that lose their    *)
(* data, and locks that an operator breaks.                                                                        *)
(*                                                                                                                *)
(* Time passes in ticks, and is measured by what is left of it, so that the model runs forever in few states. A    *)
(* node ends a grant a lease after it has got the request; the client counts from the sending. All clocks run      *)
(* equally fast; the margin that makes up for it if they do not is left out.                                       *)
(*                                                                                                                *)
(* Requests to renew, to give a claim to a node that lacks it, and to break it are in the mail until the node has  *)
(* got them, which may be at any time, in any order, or never. An answer is heard at once: one that is lost leaves *)
(* the client with less to believe in, and "gone" that is not heard is like a request that has not arrived. The    *)
(* requests of an acquisition are not in the mail; a node gets them at any time while the lease that began with    *)
(* their sending lasts. Releases arrive at any time or never, and so do requests of claims that are over; such a   *)
(* request only keeps others from a node for a while. No id is used twice: QuorumGrant.tla is about that, and      *)
(* about tokens. A claim that is over stands for a fresh id when no node keeps it.                                  *)
(*                                                                                                                *)
(* Left out are shared claims, which exclude fewer, and a node that is restored from older data than it had.       *)
(*                                                                                                                *)
(* Flaws are what a wrong design does:                                                                             *)
(*   "no age"        the votes of a node count at once after it has lost its data                                  *)
(*   "late answer"   an answer counts for a holder that had no majority when it came                               *)
(*   "plain break"   who breaks a claim leaves no tombstone                                                        *)
(*   "give to gone"  a node that has said gone is given the claim again before its vote would have ended           *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Claims, Nodes, None, Flaws,
  Lease,     \* how many ticks a grant lasts; also the longest lease, and the life of a tombstone
  Held,      \* whether a claim holds at the beginning, with votes of any age at any nodes
  Restarts,  \* how often a node starts anew
  Breaks,    \* how often a claim is broken
  Requests   \* how many are sent to renew or to give

VARIABLES
  holder,    \* for each node: the claim that it has granted, or None
  ends,      \* for each node: when that grant is over
  young,     \* for each node: when it has kept its data for so long that it counts
  tomb,      \* for each claim and node: when the tombstone is over, 0 if there is none
  state,     \* for each claim: over, asking or holding
  asked,     \* for each claim that is asking: when the lease is over that began with the sending
  left,      \* for each claim and node: when the vote is over, as its client counts
  gone,      \* for each claim and node: when the vote would have been over that the node says is gone
  mail,
  overtaken, \* for each claim: whether another one has been granted since
  hit,       \* for each claim: the nodes at which it was broken
  doubt,     \* for each claim: when all its votes are younger than the last step to break it
  last,      \* for each claim that was broken: when what it believed then is over
  restarts, breaks, requests

nodes == <<holder, ends, young, tomb>>
clients == <<state, asked, left, gone>>
seen == <<overtaken, hit, doubt, last>>
vars == <<nodes, clients, mail, seen, restarts, breaks, requests>>

Majority == Cardinality(Nodes) \div 2 + 1

Max(a, b) == IF a > b THEN a ELSE b
Minus(a, b) == IF a > b THEN a - b ELSE 0

Nowhere == [n \in Nodes |-> 0]
First == CHOOSE c \in Claims : TRUE

Init ==
  /\ \E votes \in [Nodes -> IF Held THEN 0..Lease ELSE {0}] :
       /\ holder = [n \in Nodes |-> IF votes[n] > 0 THEN First ELSE None]
       /\ ends = votes
       /\ left = [c \in Claims |-> IF c = First THEN votes ELSE Nowhere]
  /\ young = Nowhere
  /\ tomb = [c \in Claims |-> Nowhere]
  /\ state = [c \in Claims |-> IF Held /\ c = First THEN "holding" ELSE "over"]
  /\ asked = [c \in Claims |-> 0]
  /\ gone = [c \in Claims |-> Nowhere]
  /\ mail = {}
  /\ overtaken = [c \in Claims |-> FALSE]
  /\ hit = [c \in Claims |-> {}]
  /\ doubt = [c \in Claims |-> 0]
  /\ last = [c \in Claims |-> 0]
  /\ restarts = Restarts
  /\ breaks = Breaks
  /\ requests = Requests

Live(c) == {n \in Nodes : left[c][n] > 0}

\* What the client believes.
Valid(c) == state[c] = "holding" /\ Cardinality(Live(c)) >= Majority

\* Whether an answer counts.
Wanted(c) == Valid(c) \/ (state[c] = "holding" /\ "late answer" \in Flaws)

Counts(n) == young[n] = 0 \/ "no age" \in Flaws

----------------------------------------------------------------------------

Start(c) ==
  /\ state[c] = "over"
  /\ \A n \in Nodes : holder[n] # c
  /\ state' = [state EXCEPT ![c] = "asking"]
  /\ asked' = [asked EXCEPT ![c] = Lease]
  /\ tomb' = [tomb EXCEPT ![c] = Nowhere]
  /\ overtaken' = [overtaken EXCEPT ![c] = FALSE]
  /\ hit' = [hit EXCEPT ![c] = {}]
  /\ doubt' = [doubt EXCEPT ![c] = 0]
  /\ last' = [last EXCEPT ![c] = 0]
  /\ UNCHANGED <<holder, ends, young, left, gone, mail, restarts, breaks, requests>>

\* A node that is free grants, and the client hears of it.
Vote(c, n) ==
  /\ asked[c] > 0
  /\ holder[n] = None
  /\ holder' = [holder EXCEPT ![n] = c]
  /\ ends' = [ends EXCEPT ![n] = Lease]
  /\ left' = IF Counts(n) THEN [left EXCEPT ![c][n] = asked[c]] ELSE left
  /\ UNCHANGED <<young, tomb, state, asked, gone, mail, seen, restarts, breaks, requests>>

HandOut(c) ==
  /\ state[c] = "asking"
  /\ Cardinality(Live(c)) >= Majority
  /\ state' = [state EXCEPT ![c] = "holding"]
  /\ asked' = [asked EXCEPT ![c] = 0]
  /\ overtaken' = [d \in Claims |-> d # c /\ state[d] = "holding"]
  /\ UNCHANGED <<nodes, left, gone, mail, hit, doubt, last, restarts, breaks, requests>>

\* An attempt fails or is given up, or a holder releases or has lost.
End(c) ==
  /\ state[c] # "over"
  /\ state' = [state EXCEPT ![c] = "over"]
  /\ asked' = [asked EXCEPT ![c] = 0]
  /\ left' = [left EXCEPT ![c] = Nowhere]
  /\ gone' = [gone EXCEPT ![c] = Nowhere]
  /\ mail' = {m \in mail : m.of # c}
  /\ UNCHANGED <<nodes, seen, restarts, breaks, requests>>

Released(n) ==
  /\ holder[n] # None
  /\ state[holder[n]] = "over"
  /\ holder' = [holder EXCEPT ![n] = None]
  /\ ends' = [ends EXCEPT ![n] = 0]
  /\ UNCHANGED <<young, tomb, clients, mail, seen, restarts, breaks, requests>>

----------------------------------------------------------------------------

\* With what is left of the lease that begins with the sending.
Request(type, c, n) == [type |-> type, of |-> c, to |-> n, left |-> Lease]

\* A claim is renewed where it has a vote, and given to a node where it has none.
Renew(c, n) ==
  /\ Valid(c)
  /\ left[c][n] > 0 \/ gone[c][n] = 0 \/ "give to gone" \in Flaws
  /\ requests > 0
  /\ requests' = requests - 1
  /\ mail' = mail \cup {Request(IF left[c][n] > 0 THEN "renew" ELSE "give", c, n)}
  /\ UNCHANGED <<nodes, clients, seen, restarts, breaks>>

Renewed(m) ==
  LET c == m.of
      n == m.to
      held == holder[n] = c
  IN /\ m.type = "renew"
     /\ mail' = mail \ {m}
     /\ ends' = IF held THEN [ends EXCEPT ![n] = Lease] ELSE ends
     /\ left' = IF Wanted(c) THEN [left EXCEPT ![c][n] = IF held THEN Max(@, m.left) ELSE 0] ELSE left
     /\ gone' = IF Wanted(c) /\ ~held THEN [gone EXCEPT ![c][n] = Max(@, left[c][n])] ELSE gone
     /\ UNCHANGED <<holder, young, tomb, state, asked, seen, restarts, breaks, requests>>

\* To acquire what a node has granted already does not prolong it.
Given(m) ==
  LET c == m.of
      n == m.to
      held == holder[n] = c
      granted == held \/ (holder[n] = None /\ tomb[c][n] = 0)
      lasts == IF held THEN Minus(ends[n], Lease - m.left) ELSE m.left
  IN /\ m.type = "give"
     /\ mail' = mail \ {m}
     /\ holder' = IF granted THEN [holder EXCEPT ![n] = c] ELSE holder
     /\ ends' = IF granted /\ ~held THEN [ends EXCEPT ![n] = Lease] ELSE ends
     /\ left' = IF granted /\ Counts(n) /\ Wanted(c) THEN [left EXCEPT ![c][n] = Max(@, lasts)] ELSE left
     /\ UNCHANGED <<young, tomb, state, asked, gone, seen, restarts, breaks, requests>>

\* Somebody has seen that the claim holds, and releases it at all nodes.
Break(c) ==
  /\ breaks > 0
  /\ breaks' = breaks - 1
  /\ state[c] = "holding"
  /\ Cardinality({n \in Nodes : holder[n] = c}) >= Majority
  /\ mail' = mail \cup {Request("break", c, n) : n \in Nodes}
  /\ UNCHANGED <<nodes, clients, seen, restarts, requests>>

\* It counts as broken if a majority has got that at one time.
Broken(m) ==
  LET c == m.of
      n == m.to
      held == holder[n] = c
      hits == IF m.left = Lease THEN hit[c] \cup {n} ELSE hit[c]
  IN /\ m.type = "break"
     /\ mail' = mail \ {m}
     /\ holder' = IF held THEN [holder EXCEPT ![n] = None] ELSE holder
     /\ ends' = IF held THEN [ends EXCEPT ![n] = 0] ELSE ends
     /\ tomb' = IF held /\ "plain break" \in Flaws THEN tomb ELSE [tomb EXCEPT ![c][n] = Lease]
     /\ hit' = [hit EXCEPT ![c] = hits]
     /\ doubt' = [doubt EXCEPT ![c] = Lease]
     /\ last' = [last EXCEPT ![c] = IF hits = hit[c] THEN @ ELSE Lease]
     /\ UNCHANGED <<young, clients, overtaken, restarts, breaks, requests>>

----------------------------------------------------------------------------

\* A node starts anew, with its data or without them. Nobody can tell, so it does not count for a lease.
Restart(n) ==
  /\ restarts > 0
  /\ restarts' = restarts - 1
  /\ young' = [young EXCEPT ![n] = Lease]
  /\ \/ UNCHANGED <<holder, ends, tomb>>
     \/ /\ holder' = [holder EXCEPT ![n] = None]
        /\ ends' = [ends EXCEPT ![n] = 0]
        /\ tomb' = [c \in Claims |-> [tomb[c] EXCEPT ![n] = 0]]
  /\ UNCHANGED <<clients, mail, seen, breaks, requests>>

Earlier(times) == [n \in Nodes |-> Minus(times[n], 1)]

Tick ==
  /\ holder' = [n \in Nodes |-> IF ends[n] <= 1 THEN None ELSE holder[n]]
  /\ ends' = Earlier(ends)
  /\ young' = Earlier(young)
  /\ tomb' = [c \in Claims |-> Earlier(tomb[c])]
  /\ asked' = [c \in Claims |-> Minus(asked[c], 1)]
  /\ left' = [c \in Claims |-> Earlier(left[c])]
  /\ gone' = [c \in Claims |-> Earlier(gone[c])]
  /\ mail' = {[m EXCEPT !.left = Minus(@, 1)] : m \in mail}
  /\ doubt' = [c \in Claims |-> Minus(doubt[c], 1)]
  /\ last' = [c \in Claims |-> Minus(last[c], 1)]
  /\ UNCHANGED <<state, overtaken, hit, restarts, breaks, requests>>

Next ==
  \/ \E c \in Claims : Start(c) \/ HandOut(c) \/ End(c) \/ Break(c)
  \/ \E c \in Claims, n \in Nodes : Vote(c, n) \/ Renew(c, n)
  \/ \E n \in Nodes : Released(n) \/ Restart(n)
  \/ \E m \in mail : Renewed(m) \/ Given(m) \/ Broken(m)
  \/ Tick

Spec == Init /\ [][Next]_vars

\* Who is broken believes for up to a lease what is not true any more. That is what to break means.
OneHolder == Cardinality({c \in Claims : Valid(c) /\ doubt[c] = 0}) <= 1

\* Unless claims are broken nobody holds after another has been granted the lock, so that nobody's token is outdated.
Newest == \A c \in Claims : Valid(c) => ~overtaken[c]

\* What a broken claim believed is over after a lease, and does not begin again.
StaysBroken == \A c \in Claims : Cardinality(hit[c]) >= Majority /\ last[c] = 0 => ~Valid(c)

Same == Permutations(Claims) \cup Permutations(Nodes)
=============================================================================
