//! Who takes part in a run, who learns its result, and how large the sets are.

/// The part a party plays. It does not depend on who listens and who connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Learns the intersection.
    Receiver,
    /// Learns nothing but the sizes, unless the run was agreed for both.
    Sender,
}

impl Role {
    /// The partner's role.
    pub fn other(self) -> Self {
        match self {
            Role::Receiver => Role::Sender,
            Role::Sender => Role::Receiver,
        }
    }

    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Role::Receiver => "receiver",
            Role::Sender => "sender",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Who takes part in a run: the two parties, and the helper of a protocol that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Participant {
    /// The receiver.
    Receiver,
    /// The sender.
    Sender,
    /// A third process, which holds no table.
    Helper,
}

impl Participant {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Participant::Receiver => Role::Receiver.name(),
            Participant::Sender => Role::Sender.name(),
            Participant::Helper => "helper",
        }
    }
}

impl std::fmt::Display for Participant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Role> for Participant {
    fn from(role: Role) -> Self {
        match role {
            Role::Receiver => Participant::Receiver,
            Role::Sender => Participant::Sender,
        }
    }
}

impl PartialEq<Role> for Participant {
    fn eq(&self, role: &Role) -> bool {
        *self == Participant::from(*role)
    }
}

/// Who learns the intersection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Learns {
    /// The receiver alone.
    Receiver,
    /// Both parties.
    Both,
}

/// The set sizes both parties see, after padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// n_r: items of the receiver.
    pub receiver: usize,
    /// n_s: items of the sender.
    pub sender: usize,
}

impl Sizes {
    /// The size of the set that `role` holds.
    pub fn of(&self, role: Role) -> usize {
        match role {
            Role::Receiver => self.receiver,
            Role::Sender => self.sender,
        }
    }
}
