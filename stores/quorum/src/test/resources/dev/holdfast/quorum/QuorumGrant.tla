---------------------------- MODULE QuorumGrant ----------------------------
(* How clients acquire and release a lock at several nodes, and where the fencing token comes from.               *)
(*                                                                                                                *)
(* A request to a node is in the mail until the node has got it, which may be at any time, in any order, or never. *)
(* An answer is heard at once, if somebody still waits for it: one that is under way for longer is like a request  *)
(* that the node has not got yet, because all that others see of it in the meantime is that the node is busy.      *)
(* A claim stands for one inner id. When its attempt has ended, the same claim stands for the next id as soon as   *)
(* nothing of the old one is in the mail. That is a fresh id, and also one that is settled: nobody can tell them   *)
(* apart. So few claims make many attempts.                                                                        *)
(*                                                                                                                *)
(* A release that leaves a tombstone ("bury") is one that takes the requests of its claim to this node out of the  *)
(* mail, which would be refused. Releases are owed: they stay in the mail until the node has got them.             *)
(*                                                                                                                *)
(* There is no time here. A vote that a client believes in is kept by its node, which QuorumLease.tla proves. What *)
(* ends by its lease ends here by its release. Left out is also a loss of data: a node comes back with a counter   *)
(* that is larger than all before, by its clock, which is an assumption and not proved. Claims are exclusive: a    *)
(* shared claim differs only in that it does not exclude others of its kind.                                       *)
(*                                                                                                                *)
(* Flaw is what a wrong design does, or "none":                                                                    *)
(*   "no write-back"  the largest counter of the majority is handed out though no majority has it                  *)
(*   "reuse"          a claim asks again although requests of its last attempt are under way                       *)
(*   "no tombstone"   a release is the same whether or not a request of its claim may arrive after it              *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Claims, Nodes, None, Flaw,
  Counters,  \* those of the nodes at the beginning, each at one node at least
  Attempts,  \* how many are made in all
  Mail       \* how much may be under way at once

VARIABLES
  holder,    \* for each node: the claim that it has granted, or None
  last,      \* for each node: its last counter, which is that of its grant
  state,     \* for each claim: over, asking, raising or holding
  token,     \* for each claim that is raising or holding
  vote,      \* for each claim and node: the counter of the grant that the client knows of, or 0
  mail,
  attempts,  \* how many have been made
  high,      \* the largest token that was handed out
  ordered    \* whether each token was larger than all before it

vars == <<holder, last, state, token, vote, mail, attempts, high, ordered>>

Majority == Cardinality(Nodes) \div 2 + 1

Max(a, b) == IF a > b THEN a ELSE b

Init ==
  /\ last \in {f \in [Nodes -> Counters] : {f[n] : n \in Nodes} = Counters}
  /\ holder = [n \in Nodes |-> None]
  /\ state = [c \in Claims |-> "over"]
  /\ token = [c \in Claims |-> 0]
  /\ vote = [c \in Claims |-> [n \in Nodes |-> 0]]
  /\ mail = {}
  /\ attempts = 0
  /\ high = 0
  /\ ordered = TRUE

\* Acquires; the counter of the grant must be at least this one.
Ask(c, n, least) == [type |-> "ask", of |-> c, to |-> n, least |-> least]

Release(c, n, bury) ==
  [type |-> IF bury /\ Flaw # "no tombstone" THEN "bury" ELSE "release", of |-> c, to |-> n, least |-> 0]

Voters(c) == {n \in Nodes : vote[c][n] > 0}

Unanswered(c, n) == \E m \in mail : m.of = c /\ m.to = n

Start(c) ==
  /\ state[c] = "over"
  /\ Flaw = "reuse" \/ \A m \in mail : m.of # c
  /\ attempts < Attempts
  /\ attempts' = attempts + 1
  /\ state' = [state EXCEPT ![c] = "asking"]
  /\ mail' = mail \cup {Ask(c, n, 0) : n \in Nodes}
  /\ UNCHANGED <<holder, last, token, vote, high, ordered>>

\* A majority has granted. Its largest counter is the token, to which the others are raised.
Choose(c) ==
  LET largest == CHOOSE n \in Voters(c) : \A o \in Voters(c) : vote[c][o] <= vote[c][n]
      chosen == vote[c][largest]
      lower == IF Flaw = "no write-back" THEN {} ELSE {n \in Voters(c) : vote[c][n] < chosen}
  IN /\ state[c] = "asking"
     /\ Cardinality(Voters(c)) >= Majority
     /\ state' = [state EXCEPT ![c] = "raising"]
     /\ token' = [token EXCEPT ![c] = chosen]
     /\ mail' = mail \cup {Ask(c, n, chosen) : n \in lower}
     /\ UNCHANGED <<holder, last, attempts, vote, high, ordered>>

HandOut(c) ==
  LET agreed == {n \in Voters(c) : vote[c][n] >= token[c] \/ Flaw = "no write-back"}
  IN /\ state[c] = "raising"
     /\ Cardinality(agreed) >= Majority
     /\ state' = [state EXCEPT ![c] = "holding"]
     /\ ordered' = (ordered /\ token[c] > high)
     /\ high' = Max(high, token[c])
     /\ UNCHANGED <<holder, last, attempts, token, vote, mail>>

\* An attempt fails or is given up, or a holder releases. What is unanswered is buried.
End(c) ==
  LET unanswered == {n \in Nodes : Unanswered(c, n)}
  IN /\ state[c] # "over"
     /\ state' = [state EXCEPT ![c] = "over"]
     /\ mail' = mail \cup {Release(c, n, n \in unanswered) : n \in unanswered \cup Voters(c)}
     /\ vote' = [vote EXCEPT ![c] = [n \in Nodes |-> 0]]
     /\ token' = [token EXCEPT ![c] = 0]
     /\ UNCHANGED <<holder, last, attempts, high, ordered>>

\* A node gets a request to acquire. A grant that it has made already is the same again, except for a larger counter.
Asked(m) ==
  LET c == m.of
      n == m.to
      granted == holder[n] \in {None, c}
      counter == Max(IF holder[n] = c THEN last[n] ELSE last[n] + 1, m.least)
      heard == state[c] # "over"
  IN /\ m.type = "ask"
     /\ mail' = mail \ {m}
     /\ holder' = IF granted THEN [holder EXCEPT ![n] = c] ELSE holder
     /\ last' = IF granted THEN [last EXCEPT ![n] = counter] ELSE last
     /\ vote' = IF heard THEN [vote EXCEPT ![c][n] = IF granted THEN counter ELSE 0] ELSE vote
     /\ UNCHANGED <<state, token, attempts, high, ordered>>

Released(m) ==
  LET refused == IF m.type = "bury" THEN {o \in mail : o.type = "ask" /\ o.of = m.of /\ o.to = m.to} ELSE {}
  IN /\ m.type \in {"release", "bury"}
     /\ mail' = mail \ (refused \cup {m})
     /\ holder' = IF holder[m.to] = m.of THEN [holder EXCEPT ![m.to] = None] ELSE holder
     /\ UNCHANGED <<last, state, token, vote, attempts, high, ordered>>

Next ==
  \/ \E c \in Claims : Start(c) \/ Choose(c) \/ HandOut(c) \/ End(c)
  \/ \E m \in mail : Asked(m) \/ Released(m)

Spec == Init /\ [][Next]_vars

OneHolder == Cardinality({c \in Claims : state[c] = "holding"}) <= 1

TokensGrow == ordered

\* A node that keeps a claim which is over will get its release. Else it would be in the way for a lease.
Undone ==
  \A n \in Nodes :
    holder[n] # None /\ state[holder[n]] = "over"
      => \E m \in mail : m.of = holder[n] /\ m.to = n /\ m.type \in {"release", "bury"}

Bounded == Cardinality(mail) <= Mail

Same == Permutations(Claims) \cup Permutations(Nodes)
=============================================================================
