---------------------------- MODULE LocalHandOff ----------------------------
(* How one grant is passed on between the threads of a process, while its lease may end and renewals come late.    *)
(*                                                                                                                *)
(* The process asks the store, and its lease counts from before it has asked. Threads pass the grant on, each with *)
(* a larger token. Renewals are sent at any time; the store answers later, and the answer arrives later still, or  *)
(* never, and in any order. A timer declares the loss when the time is over, or any time after that. A rival takes *)
(* the lock as soon as the store has it free; its own messages take no time.                                      *)
(*                                                                                                                *)
(* All have the same clock. That clocks run at different rates is a matter of the margin, and left out.            *)
(*                                                                                                                *)
(* Flaws are the mistakes that the design avoids:                                                                 *)
(*   "counts from reply"  the lease is counted from the arrival of its grant                                      *)
(*   "revives"            the answer to a renewal is believed although the time is over: the lock may still be    *)
(*                        kept then, so that there is one holder, but a loss was not final                        *)
(*   "trusts the timer"   a thread holds until the timer has declared the loss                                    *)
(*   "keeps the token"    the grant is passed on with the same token                                              *)
(*   "passes on what is over"  the grant is passed on without a look at the time                                  *)
(*   "releases whatever there is"  a release ends the grant of whoever holds when it arrives                      *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Threads, None, Lease, End, Renewals, Grants, Flaws

VARIABLES
  now,
  owner,     \* the number of the grant that the store keeps; 0 for none
  until,     \* when the store ends it
  counter,   \* the last number that the store gave
  ask,       \* the request of the process that is on its way: when it was sent, and what was granted
  grant,     \* what the process has
  holder,    \* the thread that has it
  shares,    \* how many threads have had it
  renewals,  \* those that are on their way
  releases,  \* the numbers of the grants whose releases are on their way
  rival,     \* what the rival has
  last,      \* the last token that anybody got
  grew,      \* whether each token was larger than the one before
  dead       \* tokens of holds that were seen to be lost

vars == <<now, owner, until, counter, ask, grant, holder, shares, renewals, releases, rival, last, grew, dead>>

Nothing == [n |-> 0, deadline |-> 0, over |-> FALSE]
NoAsk == [n |-> 0, sent |-> None]

Init ==
  /\ now = 1
  /\ owner = 0
  /\ until = 0
  /\ counter = 0
  /\ ask = NoAsk
  /\ grant = Nothing
  /\ holder = None
  /\ shares = 0
  /\ renewals = {}
  /\ releases = {}
  /\ rival = Nothing
  /\ last = 0
  /\ grew = TRUE
  /\ dead = {}

Max(a, b) == IF a > b THEN a ELSE b
Kept == owner # 0 /\ now < until
IsOver == now >= grant.deadline
Token == grant.n * 10 + IF "keeps the token" \in Flaws THEN 0 ELSE shares - 1

\* What a thread finds that asks whether it holds.
Valid == holder # None /\ ~grant.over /\ ("trusts the timer" \in Flaws \/ ~IsOver)

Mint(token) ==
  /\ grew' = (grew /\ token > last)
  /\ last' = token

Ask ==
  /\ grant.n = 0
  /\ ask = NoAsk
  /\ counter < Grants
  /\ ask' = [NoAsk EXCEPT !.sent = now]
  /\ UNCHANGED <<now, owner, until, counter, grant, holder, shares, renewals, releases, rival, last, grew>>

Give ==
  /\ ask.sent # None
  /\ ask.n = 0
  /\ ~Kept
  /\ counter' = counter + 1
  /\ owner' = counter'
  /\ until' = now + Lease
  /\ ask' = [ask EXCEPT !.n = counter']
  /\ UNCHANGED <<now, grant, holder, shares, renewals, releases, rival, last, grew>>

\* What is over when it arrives goes back.
Arrive(t) ==
  /\ ask.n # 0
  /\ LET deadline == Lease + IF "counts from reply" \in Flaws THEN now ELSE ask.sent
     IN IF now < deadline
        THEN /\ grant' = [n |-> ask.n, deadline |-> deadline, over |-> FALSE]
             /\ holder' = t
             /\ shares' = 1
             /\ Mint(ask.n * 10)
             /\ UNCHANGED releases
        ELSE /\ releases' = releases \cup {ask.n}
             /\ UNCHANGED <<grant, holder, shares, last, grew>>
  /\ ask' = NoAsk
  /\ UNCHANGED <<now, owner, until, counter, renewals, rival>>

PassOn(t) ==
  /\ holder # None
  /\ holder # t
  /\ ~grant.over
  /\ ~IsOver \/ "passes on what is over" \in Flaws
  /\ shares < 4
  /\ holder' = t
  /\ shares' = shares + 1
  /\ Mint(grant.n * 10 + IF "keeps the token" \in Flaws THEN 0 ELSE shares)
  /\ UNCHANGED <<now, owner, until, counter, ask, grant, renewals, releases, rival>>

\* What is still to come about the grant is ignored from now on.
GiveBack ==
  /\ holder # None
  /\ releases' = releases \cup {grant.n}
  /\ grant' = Nothing
  /\ holder' = None
  /\ shares' = 0
  /\ UNCHANGED <<now, owner, until, counter, ask, renewals, rival, last, grew>>

ReleaseAtStore(n) ==
  /\ releases' = releases \ {n}
  /\ owner' = IF owner = n \/ "releases whatever there is" \in Flaws THEN 0 ELSE owner
  /\ UNCHANGED <<now, until, counter, ask, grant, holder, shares, renewals, rival, last, grew>>

Renew ==
  /\ grant.n # 0
  /\ ~grant.over
  /\ Cardinality(renewals) < Renewals
  /\ renewals' = renewals \cup {[n |-> grant.n, sent |-> now, answer |-> None]}
  /\ UNCHANGED <<now, owner, until, counter, ask, grant, holder, shares, releases, rival, last, grew>>

RenewAtStore(r) ==
  /\ r.answer = None
  /\ LET held == Kept /\ owner = r.n
     IN /\ until' = IF held THEN Max(until, now + Lease) ELSE until
        /\ renewals' = (renewals \ {r}) \cup {[r EXCEPT !.answer = IF held THEN "held" ELSE "gone"]}
  /\ UNCHANGED <<now, owner, counter, ask, grant, holder, shares, releases, rival, last, grew>>

Prolonged(r) == [grant EXCEPT !.deadline = Max(@, r.sent + Lease), !.over = FALSE]

RenewalArrives(r) ==
  /\ r.answer # None
  /\ renewals' = renewals \ {r}
  /\ grant' = IF r.n # grant.n THEN grant
              ELSE IF r.answer = "gone" THEN [grant EXCEPT !.over = TRUE]
              ELSE IF "revives" \in Flaws \/ (~grant.over /\ ~IsOver) THEN Prolonged(r)
              ELSE [grant EXCEPT !.over = TRUE]
  /\ UNCHANGED <<now, owner, until, counter, ask, holder, shares, releases, rival, last, grew>>

TimerRings ==
  /\ grant.n # 0
  /\ ~grant.over
  /\ IsOver
  /\ grant' = [grant EXCEPT !.over = TRUE]
  /\ UNCHANGED <<now, owner, until, counter, ask, holder, shares, renewals, releases, rival, last, grew>>

RivalTakes ==
  /\ ~Kept
  /\ rival.n = 0
  /\ counter < Grants
  /\ counter' = counter + 1
  /\ owner' = counter'
  /\ until' = now + Lease
  /\ rival' = [n |-> counter', deadline |-> now + Lease, over |-> FALSE]
  /\ Mint(counter' * 10)
  /\ UNCHANGED <<now, ask, grant, holder, shares, renewals, releases>>

RivalLeaves ==
  /\ rival.n # 0
  /\ owner' = IF owner = rival.n THEN 0 ELSE owner
  /\ rival' = Nothing
  /\ UNCHANGED <<now, until, counter, ask, grant, holder, shares, renewals, releases, last, grew>>

Tick ==
  /\ now < End
  /\ now' = now + 1
  /\ UNCHANGED <<owner, until, counter, ask, grant, holder, shares, renewals, releases, rival, last, grew>>

Lost == IF holder # None /\ ~Valid THEN {Token} ELSE {}

Step ==
  \/ Ask
  \/ Give
  \/ \E t \in Threads : Arrive(t) \/ PassOn(t)
  \/ GiveBack
  \/ \E n \in releases : ReleaseAtStore(n)
  \/ Renew
  \/ \E r \in renewals : RenewAtStore(r) \/ RenewalArrives(r)
  \/ TimerRings
  \/ RivalTakes
  \/ RivalLeaves
  \/ Tick

Next == Step /\ dead' = dead \cup Lost'

Spec == Init /\ [][Next]_vars

OneHolder == ~(Valid /\ rival.n # 0 /\ now < rival.deadline)
LostIsFinal == Valid => Token \notin dead
TokensGrow == grew
=============================================================================
