--------------------------- MODULE SequencedQueue ---------------------------
(* The queue of sequenced entries with sessions, by which the stores on ZooKeeper and etcd grant locks.           *)
(*                                                                                                                *)
(* A claim has an entry in the store. The store numbers entries as they are made, and keeps them in that order.   *)
(* The first ones that fit together hold: one exclusive entry, or all shared ones before the first exclusive one. *)
(* An entry belongs to the session of its client (here each claim has a client of its own). The store ends a      *)
(* session some time after it has heard of it, and its entries with it.                                           *)
(*                                                                                                                *)
(* A majority of servers makes each change of the store, in one step. A leader that is cut off answers reads from *)
(* what it knew then, for as long as a client stays with it, and sends no events of later changes; it makes no    *)
(* change. A request that makes an entry may arrive at any later time, also after its claim was released, and its *)
(* answer may be lost; a request that never arrives is one that has not arrived yet.                              *)
(*                                                                                                                *)
(* A claim that may not hold yet watches one entry. The event that this one has changed or is gone, and the event *)
(* that its own is gone, come in any order, as after a reconnect. Who holds believes so until a time by his own   *)
(* clock, which a heartbeat moves: from its sending on, the session's life less a margin. It counts if a majority *)
(* has made a change for it. The store's own count of the session may begin up to Lag before that change, because *)
(* a follower reports what it has heard of clients later than it passes on their changes.                         *)
(*                                                                                                                *)
(* Left out are: permits, which a semaphore adds up; new sessions of a client, which are new clients; and         *)
(* tombstones in the store, which etcd has: they only refuse what here arrives, and is swept.                     *)
(*                                                                                                                *)
(* Flaws are the mistakes that the design avoids:                                                                 *)
(*   "sync"         a heartbeat counts that the server answers alone                                              *)
(*   "from reply"   it counts from its answer on                                                                  *)
(*   "counts on"    a holder believes until it is told otherwise                                                  *)
(*   "no sweep"     a release ends the entry that it finds, and nobody looks for one that comes later             *)
(*   "no tombstone" an answer that comes after the release is believed                                            *)
(*   "blind"        whoever was next is granted by the event, without a look at its own entry                     *)
(*   "late watch"   the entry to watch is not looked at when the watch is set                                     *)
(*   "two steps"    a downgrade deletes the entry, and then makes another one in the same place                   *)
(*   "renumbered"   the grant takes the number of the entry that replaces its own                                 *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Writers, Readers, None, Flaws,
  Mortal,      \* the claims whose sessions may end; of all others is known that they live
  Life,        \* of a session
  Margin, Lag,
  End,         \* of time
  Sends,       \* how often a claim is sent at most
  Breaks,      \* how many entries are deleted by others
  Downgrades,  \* how many
  Releases,    \* how many claims are released at most
  Cut          \* whether a leader is cut off

Claims == Writers \cup Readers

VARIABLES
  queue,     \* the entries
  next,      \* the number of the next one
  live,      \* the claims whose sessions have not ended
  heard,     \* for each claim: since when the store counts its session
  old,       \* the queue as the leader that was cut off knows it; None if there is none
  with,      \* the claims whose clients are connected to that leader
  state,     \* for each claim: what its client knows
  asked,     \* for each claim: how often it was sent
  coming,    \* for each claim: how many of these requests may still arrive
  number,    \* for each claim: the number of its grant
  watched,   \* for each claim: the entry that it watches, or is about to watch
  shrinking, \* for each claim: how far its downgrade is
  ended,     \* the claims that were released or found to be gone
  sweeping,  \* those of them whose clients look for entries of theirs
  broken,    \* the claims whose entries were deleted by others when they held
  now,
  sure,      \* for each claim: until when its session is sure to live
  beat,      \* for each claim: its heartbeat that is under way
  highest,   \* the highest number of an exclusive grant, and of any
  breaks

store == <<queue, next, live, heard>>
servers == <<old, with>>
client == <<state, number, watched, ended, sweeping>>
requests == <<asked, coming, shrinking>>
time == <<now, sure, beat>>
others == <<broken, breaks>>
vars == <<store, servers, client, requests, time, others, highest>>

Init ==
  /\ queue = <<>>
  /\ next = 1
  /\ live = Claims
  /\ heard = [c \in Claims |-> 0]
  /\ old = None
  /\ with = {}
  /\ state = [c \in Claims |-> "new"]
  /\ asked = [c \in Claims |-> 0]
  /\ coming = [c \in Claims |-> 0]
  /\ number = [c \in Claims |-> 0]
  /\ watched = [c \in Claims |-> None]
  /\ shrinking = [c \in Claims |-> "no"]
  /\ ended = {}
  /\ sweeping = {}
  /\ broken = {}
  /\ now = 0
  /\ sure = [c \in Claims |-> Life - Margin]
  /\ beat = [c \in Claims |-> None]
  /\ highest = <<0, 0>>
  /\ breaks = 0

-----------------------------------------------------------------------------
\* The rules of a queue, which both stores share.

Max(a, b) == IF a > b THEN a ELSE b
Exclusive(entry) == entry.exclusive
Admitted(q, i) == i = 1 \/ \A j \in 1..i : ~Exclusive(q[j])
Places(q, c) == {i \in 1..Len(q) : q[i].claim = c}
First(set) == CHOOSE i \in set : \A j \in set : i <= j
Last(set) == CHOOSE i \in set : \A j \in set : j <= i
Blocker(q, i) == IF Exclusive(q[i]) THEN q[i - 1] ELSE q[Last({j \in 1..(i - 1) : Exclusive(q[j])})]
Has(q, entry) == \E i \in 1..Len(q) : q[i] = entry
Without(q, c) == SelectSeq(q, LAMBDA entry : entry.claim # c)

\* What the client of a claim is shown by its server.
Seen(c) == IF c \in with THEN old ELSE queue

HoldsExclusively(c) == c \in Writers /\ shrinking[c] = "no"
Believes(c) == state[c] = "holds" /\ c \notin broken /\ (c \notin Mortal \/ now < sure[c] \/ "counts on" \in Flaws)

-----------------------------------------------------------------------------
\* What a client does with a queue that it was shown, or with the news that its claim is over.

Over(c) ==
  /\ state' = [state EXCEPT ![c] = "over"]
  /\ number' = [number EXCEPT ![c] = 0]
  /\ watched' = [watched EXCEPT ![c] = None]
  /\ ended' = ended \cup {c}
  /\ highest' = highest

Granted(c, n) ==
  /\ state' = [state EXCEPT ![c] = "holds"]
  /\ number' = [number EXCEPT ![c] = n]
  /\ watched' = [watched EXCEPT ![c] = None]
  /\ highest' = IF c \in Mortal /\ now >= sure[c] THEN highest
                ELSE <<IF c \in Writers THEN Max(highest[1], n) ELSE highest[1], Max(highest[2], n)>>
  /\ UNCHANGED <<ended, sweeping>>

Waits(c, entry) ==
  /\ state' = [state EXCEPT ![c] = "listed"]
  /\ watched' = [watched EXCEPT ![c] = entry]
  /\ UNCHANGED <<number, ended, sweeping, highest>>

Look(c, q) ==
  LET places == Places(q, c)
      i == First(places)
  IN IF places = {} THEN Over(c) /\ sweeping' = sweeping \cup {c}
     ELSE IF Admitted(q, i) THEN Granted(c, q[i].number)
     ELSE Waits(c, Blocker(q, i))

-----------------------------------------------------------------------------
Acquire(c) ==
  /\ state[c] = "new"
  /\ state' = [state EXCEPT ![c] = "sent"]
  /\ asked' = [asked EXCEPT ![c] = 1]
  /\ coming' = [coming EXCEPT ![c] = 1]
  /\ UNCHANGED <<store, servers, time, others, highest, number, watched, shrinking, ended, sweeping>>

\* A claim whose answer is missing is looked for, in what a majority has confirmed, and sent again if it is not there.
Repeat(c) ==
  /\ state[c] = "sent"
  /\ asked[c] < Sends
  /\ c \notin with
  /\ c \in live
  /\ asked' = [asked EXCEPT ![c] = @ + 1]
  /\ IF Places(queue, c) # {}
     THEN Look(c, queue) /\ coming' = coming
     ELSE coming' = [coming EXCEPT ![c] = @ + 1] /\ UNCHANGED <<client, highest>>
  /\ UNCHANGED <<store, servers, time, others, shrinking>>

Made(c) == Append(queue, [claim |-> c, number |-> next, exclusive |-> c \in Writers])

\* The answer shows the queue, too. An answer to a claim that was released since has it swept.
Answered(c) ==
  IF c \in ended /\ "no tombstone" \notin Flaws
  THEN sweeping' = sweeping \cup {c} /\ UNCHANGED <<state, number, watched, ended, highest>>
  ELSE IF state[c] \in {"sent", "over"} THEN Look(c, queue')
  ELSE UNCHANGED <<client, highest>>

Arrive(c) ==
  /\ coming[c] > 0
  /\ c \in live
  /\ coming' = [coming EXCEPT ![c] = @ - 1]
  /\ queue' = Made(c)
  /\ next' = next + 1
  /\ \/ c \notin with /\ Answered(c)
     \/ Sends > 1 /\ UNCHANGED <<client, highest>>
  /\ UNCHANGED <<live, heard, servers, time, others, asked, shrinking>>

\* The entry is looked at in the step in which the watch is set.
Watch(c) ==
  /\ state[c] = "listed"
  /\ IF Has(Seen(c), watched[c])
     THEN state' = [state EXCEPT ![c] = "waits"] /\ UNCHANGED <<number, watched, ended, sweeping, highest>>
     ELSE IF "late watch" \in Flaws
     THEN /\ state' = [state EXCEPT ![c] = "waits"]
          /\ watched' = [watched EXCEPT ![c] = None]
          /\ UNCHANGED <<number, ended, sweeping, highest>>
     ELSE Look(c, Seen(c))
  /\ UNCHANGED <<store, servers, requests, time, others>>

HasEvent(c) == state[c] = "waits" /\ watched[c] # None /\ ~Has(Seen(c), watched[c])

\* That it was next, it knows from the queue that it has listed.
Event(c) ==
  /\ HasEvent(c)
  /\ IF "blind" \in Flaws /\ \A i \in 1..Len(Seen(c)) : Seen(c)[i].number > watched[c].number
     THEN Granted(c, watched[c].number + 1)
     ELSE Look(c, Seen(c))
  /\ UNCHANGED <<store, servers, requests, time, others>>

OwnIsGone(c) ==
  /\ state[c] \in {"listed", "waits", "holds"}
  /\ shrinking[c] # "between"
  /\ Places(Seen(c), c) = {}
  /\ Over(c)
  /\ sweeping' = sweeping \cup {c}
  /\ UNCHANGED <<store, servers, requests, time, others>>

\* From now on the claim may not be believed. Its entry is deleted later, by the same search that finds late ones.
Release(c) ==
  /\ state[c] \in {"sent", "listed", "waits", "holds"}
  /\ Cardinality(ended) < Releases
  /\ Over(c)
  /\ IF "no sweep" \in Flaws
     THEN c \notin with /\ queue' = Without(queue, c) /\ sweeping' = sweeping
     ELSE queue' = queue /\ sweeping' = sweeping \cup {c}
  /\ UNCHANGED <<next, live, heard, servers, requests, time, others>>

\* Whoever may have a request under way looks again. It keeps what belongs to a claim that is not over.
Sweep(c) ==
  /\ c \in sweeping
  /\ c \notin with
  /\ Places(queue, c) # {} \/ coming[c] = 0 \/ c \notin live
  /\ queue' = IF state[c] = "over" THEN Without(queue, c) ELSE queue
  /\ sweeping' = IF coming[c] = 0 \/ c \notin live THEN sweeping \ {c} ELSE sweeping
  /\ UNCHANGED <<next, live, heard, servers, state, number, watched, ended, requests, time, others, highest>>

-----------------------------------------------------------------------------
\* Whoever asks for a downgrade reads only from then on. The request is repeated until its answer comes.
Downgrade(c) ==
  /\ c \in Writers
  /\ Believes(c)
  /\ shrinking[c] = "no"
  /\ Cardinality({d \in Claims : shrinking[d] # "no"}) < Downgrades
  /\ shrinking' = [shrinking EXCEPT ![c] = "asked"]
  /\ UNCHANGED <<store, servers, client, time, others, highest, asked, coming>>

Replaced(c, n) ==
  [i \in 1..Len(queue) |-> IF queue[i].claim = c THEN [claim |-> c, number |-> n, exclusive |-> FALSE] ELSE queue[i]]

Replace(c) ==
  /\ shrinking[c] = "asked"
  /\ Places(queue, c) # {}
  /\ IF "two steps" \in Flaws
     THEN /\ queue' = Without(queue, c)
          /\ shrinking' = [shrinking EXCEPT ![c] = "between"]
          /\ UNCHANGED <<number, highest, next>>
     ELSE IF "renumbered" \in Flaws
     THEN /\ queue' = Replaced(c, next)
          /\ shrinking' = [shrinking EXCEPT ![c] = "done"]
          /\ number' = [number EXCEPT ![c] = IF state[c] = "holds" THEN next ELSE @]
          /\ highest' = <<highest[1], Max(highest[2], next)>>
          /\ next' = next + 1
     ELSE /\ queue' = Replaced(c, queue[First(Places(queue, c))].number)
          /\ shrinking' = [shrinking EXCEPT ![c] = "done"]
          /\ UNCHANGED <<number, highest, next>>
  /\ UNCHANGED <<live, heard, servers, state, watched, ended, sweeping, time, others, asked, coming>>

PutBack(c) ==
  /\ shrinking[c] = "between"
  /\ queue' = <<[claim |-> c, number |-> number[c], exclusive |-> FALSE]>> \o queue
  /\ shrinking' = [shrinking EXCEPT ![c] = "done"]
  /\ UNCHANGED <<next, live, heard, servers, client, time, others, highest, asked, coming>>

\* Somebody deletes the entry. A holder hears of it later, which he who did it must bear; one who waits must not hold.
Break(c) ==
  /\ breaks < Breaks
  /\ Places(queue, c) # {}
  /\ breaks' = breaks + 1
  /\ broken' = IF Admitted(queue, First(Places(queue, c))) THEN broken \cup {c} ELSE broken
  /\ queue' = Without(queue, c)
  /\ UNCHANGED <<next, live, heard, servers, client, requests, time, highest>>

-----------------------------------------------------------------------------
Tick ==
  /\ now < End
  /\ now' = now + 1
  /\ UNCHANGED <<store, servers, client, requests, others, highest, sure, beat>>

EndSession(c) ==
  /\ c \in live \cap Mortal
  /\ now >= heard[c] + Life
  /\ live' = live \ {c}
  /\ queue' = Without(queue, c)
  /\ UNCHANGED <<next, heard, servers, client, requests, time, others, highest>>

\* The client of a session that has ended is told so by any server that knows.
Told(c) ==
  /\ c \notin live
  /\ c \notin with
  /\ state[c] # "over"
  /\ Over(c)
  /\ UNCHANGED <<store, servers, requests, time, others, sweeping>>

Beat(c) ==
  /\ c \in Mortal
  /\ state[c] # "over"
  /\ beat[c] = None
  /\ beat' = [beat EXCEPT ![c] = [sent |-> now, done |-> FALSE]]
  /\ UNCHANGED <<store, servers, client, requests, others, highest, now, sure>>

Confirm(c) ==
  /\ beat[c] # None
  /\ ~beat[c].done
  /\ IF c \in with
     THEN "sync" \in Flaws /\ heard' = heard
     ELSE c \in live /\ heard' = [heard EXCEPT ![c] = Max(@, IF now > Lag THEN now - Lag ELSE 0)]
  /\ beat' = [beat EXCEPT ![c].done = TRUE]
  /\ UNCHANGED <<queue, next, live, servers, client, requests, others, highest, now, sure>>

BeatIsAnswered(c) ==
  /\ state[c] # "over"
  /\ beat[c] # None
  /\ beat[c].done
  /\ sure' = [sure EXCEPT ![c] = (IF "from reply" \in Flaws THEN now ELSE beat[c].sent) + Life - Margin]
  /\ beat' = [beat EXCEPT ![c] = None]
  /\ UNCHANGED <<store, servers, client, requests, others, highest, now>>

\* The others elect a leader, which counts all sessions anew. Some clients stay with the one that was cut off.
CutOff ==
  /\ Cut
  /\ old = None
  /\ old' = queue
  /\ with' \in SUBSET Claims
  /\ heard' = [c \in Claims |-> IF c \in Mortal THEN now ELSE 0]
  /\ UNCHANGED <<queue, next, live, client, requests, time, others, highest>>

Leave(c) ==
  /\ c \in with
  /\ with' = with \ {c}
  /\ beat' = [beat EXCEPT ![c] = None]
  /\ UNCHANGED <<store, old, client, requests, others, highest, now, sure>>

Next ==
  \/ Tick
  \/ CutOff
  \/ \E c \in Claims :
       \/ Acquire(c) \/ Repeat(c) \/ Arrive(c) \/ Watch(c) \/ Event(c) \/ OwnIsGone(c) \/ Release(c) \/ Sweep(c)
       \/ Downgrade(c) \/ Replace(c) \/ PutBack(c) \/ Break(c)
       \/ EndSession(c) \/ Told(c) \/ Beat(c) \/ Confirm(c) \/ BeatIsAnswered(c) \/ Leave(c)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
OneHolder ==
  \A c, d \in Claims :
    (c # d /\ Believes(c) /\ Believes(d)) => ~HoldsExclusively(c) /\ ~HoldsExclusively(d)

\* An exclusive grant has a higher number than every earlier one, and a shared one than every earlier exclusive one.
TokensRise ==
  \A c \in Claims : Believes(c) => number[c] >= IF HoldsExclusively(c) THEN highest[2] ELSE highest[1]

\* A claim that is over has no entry that nobody looks for.
NothingIsLeft ==
  \A i \in 1..Len(queue) : queue[i].claim \in ended => queue[i].claim \in sweeping

\* Whoever may hold and does not know it is about to be told, if he listens to servers that know.
NobodyIsForgotten ==
  \A c \in live \ with :
    (state[c] = "waits" /\ Places(queue, c) # {} /\ Admitted(queue, First(Places(queue, c)))) => HasEvent(c)

Same == Permutations(Writers \ Mortal) \cup Permutations(Readers \ Mortal)
=============================================================================
