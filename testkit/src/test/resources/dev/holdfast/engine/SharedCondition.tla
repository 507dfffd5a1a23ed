-------------------------- MODULE SharedCondition --------------------------
(* How threads of several processes wait for a condition that they share, and how others wake them.               *)
(*                                                                                                                *)
(* Consumers wait until there is an item, and take one. Producers put one item each, and signal. The lock and the *)
(* wait set are in the store, in which each request is one step. A signal is two: to look at the wait set, and to *)
(* end the first place in it; if that place is gone by then, the next one that was seen is ended. Answers may be  *)
(* lost: then a signal ends one place more, and a waiter whose own place was removed believes that it was         *)
(* signalled.                                                                                                     *)
(*                                                                                                                *)
(* A wait ends by a signal, by its own time limit or an interrupt (which are one step here: the waiter removes    *)
(* its place), or by the bound of all waits, after which the thread looks for itself. A waiter that was signalled *)
(* may fail to take the lock back; then it signals the next one. Threads may die at any time; a lock is lost      *)
(* while its holder stands still. What is done with a lock that was lost is refused by its fencing token.         *)
(*                                                                                                                *)
(* Left out are: signalAll, which is a signal without an end; and places that the store forgets, which wake their *)
(* threads as a signal does.                                                                                      *)
(*                                                                                                                *)
(* Flaws are the mistakes that the design avoids:                                                                 *)
(*   "unlock first"  a thread gives up the lock before it enters the wait set                                     *)
(*   "counts"        a signal has done its work although the place was gone                                       *)
(*   "eats"          a wait that is over by its limit ends so, although a signal was first                        *)
(*   "keeps"         a thread that was signalled and does not get the lock back signals nobody                    *)
(*   "endless"       a wait has no bound of its own                                                               *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Consumers, Producers, None, Flaws, Deaths, Losses, Impatient, Failing

VARIABLES
  lock,     \* who holds it
  waitSet,  \* the places in the order in which they were taken
  items,
  at,       \* for each thread: what it does next
  seen,     \* for each thread that signals: the places that it has seen and not tried yet
  deaths,
  losses

vars == <<lock, waitSet, items, at, seen, deaths, losses>>

Threads == Consumers \cup Producers

Init ==
  /\ lock = None
  /\ waitSet = <<>>
  /\ items = 0
  /\ at = [t \in Threads |-> "want"]
  /\ seen = [t \in Threads |-> <<>>]
  /\ deaths = 0
  /\ losses = 0

Waits(c) == \E i \in 1..Len(waitSet) : waitSet[i] = c
Without(c) == SelectSeq(waitSet, LAMBDA d : d # c)
Go(t, next) == at' = [at EXCEPT ![t] = next]
Over == {"done", "gone", "dead"}
Unlocked(t) == IF lock = t THEN None ELSE lock

\* "back" is a thread that believes that it was signalled, and "want" any other that wants the lock.
Lock(t) ==
  /\ at[t] \in {"want", "back"}
  /\ lock = None
  /\ lock' = t
  /\ Go(t, "in")
  /\ UNCHANGED <<waitSet, items, seen, deaths, losses>>

\* It has lost the lock before it has done anything with it.
Refused(t) ==
  /\ at[t] = "in"
  /\ lock # t
  /\ Go(t, "gone")
  /\ UNCHANGED <<lock, waitSet, items, seen, deaths, losses>>

Take(c) ==
  /\ at[c] = "in"
  /\ lock = c
  /\ items > 0
  /\ items' = items - 1
  /\ lock' = None
  /\ Go(c, "done")
  /\ UNCHANGED <<waitSet, seen, deaths, losses>>

Enter(c) ==
  /\ at[c] = "in"
  /\ lock = c
  /\ items = 0
  /\ IF "unlock first" \in Flaws
     THEN Go(c, "outside") /\ lock' = None /\ waitSet' = waitSet
     ELSE Go(c, "inside") /\ lock' = lock /\ waitSet' = Append(waitSet, c)
  /\ UNCHANGED <<items, seen, deaths, losses>>

EnterLate(c) ==
  /\ at[c] = "outside"
  /\ waitSet' = Append(waitSet, c)
  /\ Go(c, "waiting")
  /\ UNCHANGED <<lock, items, seen, deaths, losses>>

\* If the lock was lost, the wait fails; a signal that has come already goes to the next one.
GiveUp(c) ==
  /\ at[c] = "inside"
  /\ lock' = Unlocked(c)
  /\ IF lock = c
     THEN Go(c, "waiting") /\ waitSet' = waitSet
     ELSE Go(c, IF Waits(c) THEN "gone" ELSE "pass") /\ waitSet' = Without(c)
  /\ UNCHANGED <<items, seen, deaths, losses>>

Wake(c) ==
  /\ at[c] = "waiting"
  /\ ~Waits(c)
  /\ Go(c, "back")
  /\ UNCHANGED <<lock, waitSet, items, seen, deaths, losses>>

\* Its own release says what was first. Without an answer it takes itself for signalled.
End(c) ==
  /\ at[c] = "waiting"
  /\ c \in Impatient
  /\ waitSet' = Without(c)
  /\ IF Waits(c) \/ "eats" \in Flaws THEN Go(c, "gone") \/ Go(c, "back") ELSE Go(c, "back")
  /\ UNCHANGED <<lock, items, seen, deaths, losses>>

Bound(c) ==
  /\ at[c] = "waiting"
  /\ "endless" \notin Flaws
  /\ Waits(c)
  /\ waitSet' = Without(c)
  /\ Go(c, "want")
  /\ UNCHANGED <<lock, items, seen, deaths, losses>>

Fail(c) ==
  /\ at[c] = "back"
  /\ c \in Failing
  /\ Go(c, IF "keeps" \in Flaws THEN "gone" ELSE "pass")
  /\ UNCHANGED <<lock, waitSet, items, seen, deaths, losses>>

Put(p) ==
  /\ at[p] = "in"
  /\ lock = p
  /\ items' = items + 1
  /\ Go(p, "put")
  /\ UNCHANGED <<lock, waitSet, seen, deaths, losses>>

\* A signal needs the lock; a thread that passes its own signal on has none.
Look(t) ==
  /\ \/ at[t] = "put" /\ lock = t /\ Go(t, "signal")
     \/ at[t] = "pass" /\ Go(t, "passing")
  /\ seen' = [seen EXCEPT ![t] = waitSet]
  /\ UNCHANGED <<lock, waitSet, items, deaths, losses>>

LookRefused(p) ==
  /\ at[p] = "put"
  /\ lock # p
  /\ Go(p, "gone")
  /\ UNCHANGED <<lock, waitSet, items, seen, deaths, losses>>

Signalled(t) ==
  /\ Go(t, IF at[t] = "signal" THEN "unlock" ELSE "gone")
  /\ seen' = [seen EXCEPT ![t] = <<>>]

TryNext(t) ==
  /\ seen' = [seen EXCEPT ![t] = Tail(@)]
  /\ at' = at

Signal(t) ==
  /\ at[t] \in {"signal", "passing"}
  /\ UNCHANGED <<lock, items, deaths, losses>>
  /\ IF seen[t] = <<>>
     THEN Signalled(t) /\ waitSet' = waitSet
     ELSE LET first == Head(seen[t])
          IN /\ waitSet' = Without(first)
             /\ IF Waits(first)
                THEN Signalled(t) \/ TryNext(t) \* the answer was lost, and the repeated release finds nothing
                ELSE IF "counts" \in Flaws THEN Signalled(t) ELSE TryNext(t)

Unlock(p) ==
  /\ at[p] = "unlock"
  /\ lock' = Unlocked(p)
  /\ Go(p, "done")
  /\ UNCHANGED <<waitSet, items, seen, deaths, losses>>

\* The place of a dead thread stays until its ticket is over; its lock is free when the lease is.
Die(t) ==
  /\ deaths < Deaths
  /\ at[t] \notin Over
  /\ deaths' = deaths + 1
  /\ lock' = Unlocked(t)
  /\ seen' = [seen EXCEPT ![t] = <<>>]
  /\ Go(t, "dead")
  /\ UNCHANGED <<waitSet, items, losses>>

Expire(c) ==
  /\ at[c] = "dead"
  /\ Waits(c)
  /\ waitSet' = Without(c)
  /\ UNCHANGED <<lock, items, at, seen, deaths, losses>>

Lose(t) ==
  /\ losses < Losses
  /\ lock = t
  /\ losses' = losses + 1
  /\ lock' = None
  /\ UNCHANGED <<waitSet, items, at, seen, deaths>>

\* What a living thread does for itself, but for the lock, for which it may come too late again and again.
Step(t) ==
  \/ t \in Consumers /\ (Take(t) \/ Enter(t) \/ EnterLate(t) \/ GiveUp(t) \/ Wake(t) \/ Bound(t))
  \/ t \in Producers /\ (Put(t) \/ LookRefused(t) \/ Unlock(t))
  \/ Refused(t) \/ Look(t) \/ Signal(t)

Next ==
  \/ \E t \in Threads : Lock(t) \/ Step(t) \/ Die(t) \/ Lose(t)
  \/ \E c \in Consumers : End(c) \/ Fail(c) \/ Expire(c)

Spec == Init /\ [][Next]_vars

\* The store's queue is fair, so that each thread gets the lock in the end.
FairSpec == Spec /\ \A t \in Threads : WF_vars(Step(t)) /\ SF_vars(Lock(t))

Idle(t) == at[t] \in Over \/ (at[t] = "waiting" /\ Waits(t))

\* Nobody sleeps beside an item when all others are done: without deaths and losses, no signal needs the bound.
NoSignalIsLost == (items > 0 /\ \A t \in Threads : Idle(t)) => \A c \in Consumers : at[c] # "waiting"

\* A place belongs to a thread that waits, or has died.
NothingIsLeft == \A c \in Consumers : Waits(c) => at[c] \in {"inside", "waiting", "dead"}

\* Whatever dies or is lost, an item is taken by somebody who lives.
Served == (items > 0) ~> (items = 0 \/ \A c \in Consumers : at[c] \in Over)

Same == Permutations(Consumers) \cup Permutations(Producers)
=============================================================================
