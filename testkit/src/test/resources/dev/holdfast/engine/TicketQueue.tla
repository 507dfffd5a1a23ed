---------------------------- MODULE TicketQueue ----------------------------
(* The queue of a store that grants leases, with waiters that sleep or die.                                       *)
(*                                                                                                                *)
(* A waiter has a ticket, which ends if it is not refreshed. Whatever is asked of the store, it first drops what  *)
(* is over, and hands the free lock to the first waiter: for the time of a ticket only, since nobody knows        *)
(* whether that waiter is still there. It is told so by a push, which may be late or lost, or by the answer to    *)
(* its next request. Requests and answers may be late, too.                                                       *)
(*                                                                                                                *)
(* A client that sleeps does nothing and knows nothing. It may wake up at any time, or never, which is a death.   *)
(* In the beginning somebody else holds, whose time just passes.                                                  *)
(*                                                                                                                *)
(* All have the same clock. Left out are permits, repeated claims, and clocks of different rates.                 *)
(*                                                                                                                *)
(* Flaws are the mistakes that the design avoids:                                                                 *)
(*   "counts from answer"   the lease counts from the arrival of an answer                                        *)
(*   "counts from push"     a pushed grant counts from its arrival, not from the last refresh before it           *)
(*   "handed for the lease" a waiter is handed the lock for its whole lease                                       *)
(*   "endless tickets"      only a release ends a ticket                                                          *)
(*   "to the end"           a refresh takes a new place                                                           *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Claims, None, Flaws, Lease, Ticket, End,
  Sleeps,  \* how often a client falls asleep
  Slow,    \* whether messages take time; if not, whoever sleeps is dead
  Bound    \* how long those who sleep may keep others waiting

VARIABLES
  now,
  hold,     \* who holds in the store, and until when; None if nobody does
  queue,    \* those who wait, their tickets, and when they came
  comers,   \* how many have come to wait
  pushes,   \* the notifications that are under way
  asks,     \* for each claim: its request that is under way, and its answer; None if there is none
  state,    \* for each claim: what its client knows
  counted,  \* for each claim: when the last request was sent that was answered "waiting"
  sure,     \* for each claim: until when its client believes that it holds
  asleep,
  sleeps,
  since     \* since when those who sleep have kept others waiting

store == <<hold, queue, comers>>
client == <<state, counted, sure>>
sleep == <<asleep, sleeps>>
vars == <<now, store, pushes, asks, client, sleep, since>>

Init ==
  /\ now = 0
  /\ hold = [claim |-> None, until |-> 1]
  /\ queue = <<>>
  /\ comers = 0
  /\ pushes = {}
  /\ asks = [c \in Claims |-> None]
  /\ state = [c \in Claims |-> "new"]
  /\ counted = [c \in Claims |-> 0]
  /\ sure = [c \in Claims |-> 0]
  /\ asleep = {}
  /\ sleeps = 0
  /\ since = 0

Max(a, b) == IF a > b THEN a ELSE b
Believes(c) == state[c] = "holds" /\ now < sure[c]
Waits(q, c) == \E i \in 1..Len(q) : q[i].claim = c

-----------------------------------------------------------------------------
\* What the store does before anything else.

HandedFor == IF "handed for the lease" \in Flaws THEN Lease ELSE Ticket
Kept(h) == h # None /\ h.until > now
Live(q) == IF "endless tickets" \in Flaws THEN q ELSE SelectSeq(q, LAMBDA place : place.until > now)

Settled(h, q) ==
  LET live == Live(q)
  IN IF Kept(h) THEN [hold |-> h, queue |-> live, told |-> {}]
     ELSE IF live = <<>> THEN [hold |-> None, queue |-> live, told |-> {}]
     ELSE [hold |-> [claim |-> Head(live).claim, until |-> now + HandedFor],
           queue |-> Tail(live),
           told |-> {Head(live).claim}]

Refreshed(q, c) ==
  LET others == SelectSeq(q, LAMBDA place : place.claim # c)
      own == SelectSeq(q, LAMBDA place : place.claim = c)
  IN IF "to the end" \in Flaws THEN Append(others, [own[1] EXCEPT !.until = now + Ticket])
     ELSE [i \in 1..Len(q) |-> IF q[i].claim = c THEN [q[i] EXCEPT !.until = now + Ticket] ELSE q[i]]

-----------------------------------------------------------------------------
Ask(c) ==
  /\ c \notin asleep
  /\ asks[c] = None
  /\ state[c] # "over"
  /\ state[c] \in {"new", "waits"} \/ Believes(c)
  /\ Slow \/ state[c] = "new" \/ (state[c] = "waits" /\ counted[c] # now)
  /\ asks' = [asks EXCEPT ![c] = [sent |-> now, first |-> state[c] = "new", answer |-> None]]
  /\ state' = [state EXCEPT ![c] = IF @ = "new" THEN "waits" ELSE @]
  /\ UNCHANGED <<now, store, pushes, counted, sure, sleep>>

Answer(c, h, q, told, answer) ==
  /\ hold' = h
  /\ queue' = q
  /\ pushes' = pushes \cup told
  /\ asks' = [asks EXCEPT ![c].answer = answer]

AtStore(c) ==
  /\ asks[c] # None
  /\ asks[c].answer = None
  /\ Slow \/ asks[c].sent = now
  /\ LET s == Settled(hold, queue)
         renewed == [claim |-> c, until |-> now + Lease]
     IN IF s.hold # None /\ s.hold.claim = c
        THEN /\ Answer(c, [renewed EXCEPT !.until = Max(@, s.hold.until)], s.queue, s.told, "held")
             /\ comers' = comers
        ELSE IF Waits(s.queue, c)
        THEN Answer(c, s.hold, Refreshed(s.queue, c), s.told, "waiting") /\ comers' = comers
        ELSE IF ~asks[c].first
        THEN Answer(c, s.hold, s.queue, s.told, "gone") /\ comers' = comers
        ELSE IF s.hold = None
        THEN Answer(c, renewed, s.queue, s.told, "held") /\ comers' = comers
        ELSE /\ comers' = comers + 1
             /\ Answer(c, s.hold, Append(s.queue, [claim |-> c, until |-> now + Ticket, came |-> comers']), s.told, "waiting")
  /\ UNCHANGED <<now, client, sleep>>

Over(c) ==
  /\ state' = [state EXCEPT ![c] = "over"]
  /\ sure' = [sure EXCEPT ![c] = 0]
  /\ UNCHANGED counted

\* An answer that comes when the time is over revives nothing.
Answered(c) ==
  /\ c \notin asleep
  /\ asks[c] # None
  /\ asks[c].answer # None
  /\ asks' = [asks EXCEPT ![c] = None]
  /\ LET until == Lease + IF "counts from answer" \in Flaws THEN now ELSE asks[c].sent
         late == state[c] = "holds" /\ ~Believes(c)
     IN IF state[c] = "over" THEN UNCHANGED client
        ELSE IF asks[c].answer = "gone" \/ late \/ (asks[c].answer = "held" /\ now >= until) THEN Over(c)
        ELSE IF asks[c].answer = "held"
        THEN /\ state' = [state EXCEPT ![c] = "holds"]
             /\ sure' = [sure EXCEPT ![c] = Max(@, until)]
             /\ UNCHANGED counted
        ELSE IF state[c] = "holds" THEN UNCHANGED client
        ELSE counted' = [counted EXCEPT ![c] = asks[c].sent] /\ UNCHANGED <<state, sure>>
  /\ UNCHANGED <<now, store, pushes, sleep>>

\* If too little is left, as after a sleep, the client asks.
Pushed(c) ==
  /\ c \in pushes \ asleep
  /\ pushes' = pushes \ {c}
  /\ LET until == Ticket + IF "counts from push" \in Flaws THEN now ELSE counted[c]
     IN IF state[c] = "waits" /\ now < until
        THEN state' = [state EXCEPT ![c] = "holds"] /\ sure' = [sure EXCEPT ![c] = until] /\ UNCHANGED counted
        ELSE UNCHANGED client
  /\ UNCHANGED <<now, store, asks, sleep>>

\* Otherwise the leases of those who hold end by time.
Release(c) ==
  /\ Slow
  /\ c \notin asleep
  /\ Believes(c)
  /\ LET s == Settled(IF hold # None /\ hold.claim = c THEN None ELSE hold, queue)
     IN hold' = s.hold /\ queue' = s.queue /\ pushes' = pushes \cup s.told
  /\ Over(c)
  /\ UNCHANGED <<now, comers, asks, sleep>>

Sleep(c) ==
  /\ c \notin asleep
  /\ state[c] \in {"waits", "holds"}
  /\ sleeps < Sleeps
  /\ asleep' = asleep \cup {c}
  /\ sleeps' = sleeps + 1
  /\ UNCHANGED <<now, store, pushes, asks, client>>

Wake(c) ==
  /\ Slow
  /\ c \in asleep
  /\ asleep' = asleep \ {c}
  /\ UNCHANGED <<now, store, pushes, asks, client, sleeps>>

\* Unless messages are slow, whoever is awake has heard all, and waiters have asked, before time passes.
Tick ==
  /\ now < End
  /\ Slow \/ \A c \in Claims \ asleep :
       asks[c] = None /\ c \notin pushes /\ (state[c] = "waits" => counted[c] = now)
  /\ now' = now + 1
  /\ UNCHANGED <<store, pushes, asks, client, sleep>>

\* Unless messages are slow, nobody acts between a request and its answer, but who asks may fall asleep.
Asking == {c \in Claims \ asleep : asks[c] # None}

Step ==
  IF ~Slow /\ Asking # {} THEN \E c \in Asking : AtStore(c) \/ Answered(c) \/ Sleep(c)
  ELSE Tick \/ \E c \in Claims :
    Ask(c) \/ AtStore(c) \/ Answered(c) \/ Pushed(c) \/ Release(c) \/ Sleep(c) \/ Wake(c)

KeptWaiting ==
  /\ \E c \in Claims \ asleep : Waits(queue, c)
  /\ ~(hold # None /\ hold.claim \notin asleep /\ hold.until > now)

\* The count begins anew when somebody falls asleep.
Next ==
  /\ Step
  /\ since' = IF Slow THEN 0 ELSE IF KeptWaiting' /\ asleep' = asleep THEN since ELSE now'

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
OneHolder == \A c, d \in Claims : Believes(c) /\ Believes(d) => c = d

InOrder == \A i, j \in 1..Len(queue) : i < j => queue[i].came < queue[j].came

\* However many sleep, they delay the others by no more than this.
Prompt == Slow \/ now - since <= Bound

Same == Permutations(Claims)
=============================================================================
