---------------------------- MODULE PushedGrant ----------------------------
(* How a release hands a lock to the next waiter of the default layout, on a primary with a replica.              *)
(*                                                                                                                *)
(* A script at the primary is one step. It passes over waiters that it cannot notify. A message that a server     *)
(* publishes reaches the subscribers of that server; it also goes down the stream of replication and then reaches *)
(* the subscribers of the replica. Messages may be late or lost. A client may be subscribed at either server or   *)
(* at none, because it finds the primary by a table that may be old. A server may refuse a release at its first   *)
(* write. A fail-over is orderly: the replica has applied the whole stream. (One that loses writes loses grants   *)
(* too, whatever a release does; replicas=N is for that.)                                                         *)
(*                                                                                                                *)
(* Left out are: other requests that are refused, which change nothing but what was published before; replies     *)
(* that are lost; clocks that differ; claims that want only some of the permits; and records that are evicted.    *)
(*                                                                                                                *)
(* Rule is the way a release finds out whom it can notify:                                                        *)
(*   "ask"           it asks how many clients are subscribed, writes the grant, and publishes it last             *)
(*   "count"         it publishes, and passes over whom that has not reached                                      *)
(*   "publish first" it asks, publishes, and then writes                                                          *)
(* Only the first is sound.                                                                                       *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Claims, Servers, None, Rule, Life, End

VARIABLES
  now,      \* the time, for the servers and for the clients
  primary,
  record,   \* for each server: who holds and until when, who waits, and who of them was passed over
  stream,   \* what the replica has not applied: records, and claims that were published
  mail,     \* the claims whose message is on its way to their client
  place,    \* for each claim: the server at which its client is subscribed, or None
  client    \* for each claim what its client believes

vars == <<now, primary, record, stream, mail, place, client>>

Free == [holder |-> None, ends |-> 0, queue |-> <<>>, passed |-> {}]

Init ==
  /\ now = 0
  /\ primary \in Servers
  /\ record = [s \in Servers |-> Free]
  /\ stream = <<>>
  /\ mail = {}
  /\ place = [c \in Claims |-> None]
  /\ client = [c \in Claims |-> [state |-> "new", since |-> 0, until |-> 0]]

Replica == CHOOSE s \in Servers : s # primary

Without(queue, c) == SelectSeq(queue, LAMBDA d : d # c)

\* The record without a grant that is over and without waiters whose tickets are over.
Settled(r) ==
  [holder |-> IF r.ends > now THEN r.holder ELSE None,
   ends |-> IF r.ends > now THEN r.ends ELSE 0,
   queue |-> SelectSeq(r.queue, LAMBDA c : client[c].since + Life > now),
   passed |-> r.passed]

\* The waiters that have not been passed over, in their order.
Waiting(r) == SelectSeq(r.queue, LAMBDA c : c \notin r.passed)

\* How many of them are passed over: all before the first that can be notified. The caller can always be.
RECURSIVE Skipped(_, _)
Skipped(queue, caller) ==
  IF queue = <<>> \/ Head(queue) = caller \/ place[Head(queue)] = primary
  THEN 0
  ELSE 1 + Skipped(Tail(queue), caller)

\* What the script does with a settled record, called on behalf of a claim: the record, and whom it publishes to.
Admitted(r, caller) ==
  LET waiting == Waiting(r)
      skipped == Skipped(waiting, caller)
      over == {waiting[i] : i \in 1..skipped}
      found == skipped < Len(waiting)
      next == waiting[skipped + 1]
      tried == IF Rule = "count" THEN over ELSE {}
  IN IF r.holder # None \/ waiting = <<>>
     THEN [record |-> r, publish |-> {}]
     ELSE IF ~found
     THEN [record |-> [r EXCEPT !.passed = @ \cup over], publish |-> tried]
     ELSE [record |-> [holder |-> next, ends |-> now + Life, queue |-> Without(r.queue, next),
                       passed |-> (r.passed \cup over) \ {next}],
           publish |-> tried \cup ({next} \ {caller})]

\* Those who receive what this server publishes: only who waits has a use for it.
Receivers(claims, s) == {c \in claims : place[c] = s /\ client[c].state = "waiting"}

Publish(claims) == mail' = mail \cup Receivers(claims, primary)

\* The effect of a script at the primary, and what goes to the replica.
Write(done) ==
  /\ record' = [record EXCEPT ![primary] = done.record]
  /\ stream' = Append(stream, [publish |-> done.publish, record |-> done.record])
  /\ Publish(done.publish)

\* A script is refused at its first write. What it has published before that cannot be undone.
Refused(done) ==
  /\ Rule # "count" \* whose error does not need it
  /\ Publish(IF Rule = "ask" THEN {} ELSE done.publish)
  /\ stream' = stream
  /\ record' = record

Holds(c, until) == client' = [client EXCEPT ![c] = [state |-> "holding", since |-> now, until |-> until]]
Waits(c) == client' = [client EXCEPT ![c] = [state |-> "waiting", since |-> now, until |-> 0]]
Ends(c) == client' = [client EXCEPT ![c].state = "over", ![c].until = 0]

Enqueue(c) ==
  LET settled == Settled(record[primary])
      queued == [settled EXCEPT !.queue = Append(@, c)]
      done == Admitted(queued, c)
  IN /\ client[c].state = "new"
     /\ Write(done)
     /\ IF done.record.holder = c THEN Holds(c, done.record.ends) ELSE Waits(c)
     /\ UNCHANGED <<now, primary, place>>

\* A waiter asks, and a holder renews; a claim that the store knows nothing of has ended.
Ask(c) ==
  LET settled == Settled(record[primary])
      back == [settled EXCEPT !.passed = @ \ {c}]
      done == Admitted(back, c)
      held == [settled EXCEPT !.ends = now + Life]
  IN /\ client[c].state \in {"waiting", "holding"}
     /\ UNCHANGED <<now, primary, place>>
     /\ IF settled.holder = c
        THEN Write([record |-> held, publish |-> {}]) /\ Holds(c, now + Life)
        ELSE IF c \in {settled.queue[i] : i \in 1..Len(settled.queue)}
        THEN Write(done) /\ IF done.record.holder = c THEN Holds(c, done.record.ends) ELSE Waits(c)
        ELSE Ends(c) /\ UNCHANGED <<record, stream, mail>>

Release(c) ==
  LET settled == Settled(record[primary])
      freed == IF settled.holder = c THEN [settled EXCEPT !.holder = None, !.ends = 0] ELSE settled
      done == Admitted([freed EXCEPT !.queue = Without(@, c)], None)
  IN /\ client[c].state \in {"waiting", "holding"}
     /\ Ends(c)
     /\ Write(done) \/ Refused(done)
     /\ UNCHANGED <<now, primary, place>>

\* Counted from the last request that was answered "still waiting".
Receive(c) ==
  LET until == client[c].since + Life
  IN /\ c \in mail
     /\ mail' = mail \ {c}
     /\ client' = IF client[c].state = "waiting" /\ until > now
                  THEN [client EXCEPT ![c].state = "holding", ![c].until = until]
                  ELSE client
     /\ UNCHANGED <<now, primary, record, stream, place>>

Lose(c) ==
  /\ c \in mail
  /\ mail' = mail \ {c}
  /\ UNCHANGED <<now, primary, record, stream, place, client>>

Replicate ==
  /\ stream # <<>>
  /\ record' = [record EXCEPT ![Replica] = Head(stream).record]
  /\ mail' = mail \cup Receivers(Head(stream).publish, Replica)
  /\ stream' = Tail(stream)
  /\ UNCHANGED <<now, primary, place, client>>

FailOver ==
  /\ stream = <<>>
  /\ primary' = Replica
  /\ UNCHANGED <<now, record, stream, mail, place, client>>

\* Where a client subscribes matters only while it waits.
Subscribe(c) ==
  /\ client[c].state = "waiting"
  /\ place' \in {[place EXCEPT ![c] = s] : s \in Servers \cup {None}}
  /\ UNCHANGED <<now, primary, record, stream, mail, client>>

Pass ==
  /\ now < End
  /\ now' = now + 1
  /\ UNCHANGED <<primary, record, stream, mail, place, client>>

Next ==
  \/ \E c \in Claims : Enqueue(c) \/ Ask(c) \/ Release(c) \/ Receive(c) \/ Lose(c) \/ Subscribe(c)
  \/ Replicate \/ FailOver \/ Pass

Spec == Init /\ [][Next]_vars

Believers == {c \in Claims : client[c].state = "holding" /\ client[c].until > now}

OneHolder == Cardinality(Believers) <= 1

\* Nobody believes in a grant that the primary does not keep for it.
Kept == \A c \in Believers : record[primary].holder = c /\ record[primary].ends >= client[c].until

\* So that the model stays finite.
Bounded == Len(stream) <= 1

Same == Permutations(Claims) \cup Permutations(Servers)
=============================================================================
