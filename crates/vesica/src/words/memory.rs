//! How much memory this process may use, and whether a run fits.
//!
//! The available memory is the least of three figures: what the machine has free, what the control groups of this process
//! (v1 and v2) leave, and what its limit on address space leaves. Memory that the process already holds counts as available.

use std::fs;
use std::path::Path;

pub use vesica_text::amounts::Bytes;
use vesica_text::{Text, text};

use crate::words::system::address_space;

/// The share of the available memory that a run may use by default, in percent.
///
/// A run is compared with it by its upper bound, of which measured runs used 68 to 89 %.
pub const USUAL_SHARE: u64 = 90;

/// The memory that a run may use, and where the limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// In bytes.
    pub bytes: u64,
    /// Where the limit comes from.
    pub from: Source,
    /// How many parties of this process share it.
    pub parties: u64,
}

/// What bounds the memory of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--memory SIZE`.
    Option,
    /// `--memory auto`.
    Automatic,
    /// What the machine has free.
    Machine,
    /// The control group: a container's limit.
    ControlGroup,
    /// The limit on the address space of the process.
    AddressSpace,
}

impl Budget {
    /// How much there is, and why no more.
    pub(crate) fn text(&self) -> Text {
        let bytes = Bytes(self.bytes).to_string();
        let of = |what: &str| format!("{bytes} are available: {USUAL_SHARE} % of {what}").into();
        let text = match self.from {
            Source::Option => text!("`[memory]` allows {}", &bytes),
            Source::Automatic => text!("`[memory auto]` allows {}: half of the available memory", &bytes),
            Source::Machine => of("the free memory"),
            Source::ControlGroup => of("what the container's memory limit leaves"),
            Source::AddressSpace => of("what the limit on address space leaves"),
        };
        if self.parties > 1 { text!("{}, for both parties together", text) } else { text }
    }
}

impl Budget {
    /// The limit that a user gives.
    pub fn named(bytes: u64) -> Self {
        Budget { bytes, from: Source::Option, parties: 1 }
    }

    /// What `--memory auto` plans with: half of the available memory; none if the system does not tell it.
    pub fn automatic() -> Option<Self> {
        let there = available(Path::new("/"), address_space())?;
        Some(Budget { bytes: there.bytes / 2, from: Source::Automatic, parties: 1 })
    }

    /// The default: a share of the available memory; none if the system does not tell it.
    pub fn usual() -> Option<Self> {
        let there = available(Path::new("/"), address_space())?;
        Some(Budget { bytes: there.bytes / 100 * USUAL_SHARE, ..there })
    }

    /// What a run is refused by. `--memory auto` plans a run with half of the available memory, and refuses none that would
    /// be played without the option.
    #[must_use]
    pub fn limit(self) -> Self {
        match self.from {
            Source::Automatic => self.or_more(Self::usual()),
            _ => self,
        }
    }

    fn or_more(self, other: Option<Self>) -> Self {
        let other = other.filter(|other| other.bytes > self.bytes);
        other.map_or(self, |other| Budget { parties: self.parties, ..other })
    }

    /// The share of one party.
    pub fn of_party(&self) -> u64 {
        self.bytes / self.parties.max(1)
    }

    /// Whether one party may use so much.
    pub fn allows(&self, bytes: u64) -> bool {
        bytes <= self.of_party()
    }
}

/// The available memory, by the files under `root`.
fn available(root: &Path, most_addresses: Option<u64>) -> Option<Budget> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let status = read("proc/self/status").unwrap_or_default();
    let own = kib(&status, "VmRSS:").unwrap_or(0);
    let machine = read("proc/meminfo").and_then(|text| kib(&text, "MemAvailable:"));
    let addresses = most_addresses.map(|limit| limit.saturating_sub(kib(&status, "VmSize:").unwrap_or(0)));
    let found = [
        (machine, Source::Machine),
        (control_groups(root, &read("proc/self/cgroup").unwrap_or_default()), Source::ControlGroup),
        (addresses, Source::AddressSpace),
    ];
    let found = found.into_iter().filter_map(|(bytes, from)| {
        bytes.map(|bytes| Budget { bytes: bytes.saturating_add(own), from, parties: 1 })
    });
    found.min_by_key(|budget| budget.bytes)
}

/// A line such as `MemAvailable:  1234 kB`, in bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files of a control group's memory, in either version.
struct Files {
    folder: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Lines of `memory.stat` with memory that the system takes back when it needs some: cached files, and its own.
    reclaimable: [&'static str; 3],
}

const SECOND: Files = Files {
    folder: "sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    reclaimable: ["inactive_file ", "active_file ", "slab_reclaimable "],
};
const FIRST: Files = Files {
    folder: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file ", "total_active_file ", "total_slab_reclaimable "],
};

/// The least memory that one of the groups leaves. `groups` is `/proc/self/cgroup`: a line for each hierarchy.
fn control_groups(root: &Path, groups: &str) -> Option<u64> {
    let lines = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        match controllers {
            "" => Some((&SECOND, path)),
            controllers => controllers.split(',').any(|name| name == "memory").then_some((&FIRST, path)),
        }
    });
    let left = lines.flat_map(|(files, path)| {
        let folder = root.join(files.folder);
        // The limits of the groups above hold too. In a container the path may be the host's, and then it does not exist.
        let above = Path::new(path.trim_start_matches('/')).ancestors().map(move |path| folder.join(path));
        above.filter_map(|folder| left_in(&folder, files))
    });
    left.min()
}

fn left_in(folder: &Path, files: &Files) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    // "max" is no number, and no limit.
    let limit = number(files.limit)?;
    let used = number(files.used)?;
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let line = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
    let reclaimable = files.reclaimable.iter().filter_map(|name| line(name)).fold(0, u64::saturating_add);
    Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn auto_plans_with_less_than_a_run_is_refused_by() {
        let auto = Budget { bytes: 150 * MIB, from: Source::Automatic, parties: 2 };
        let usual = |bytes| Some(Budget { bytes, from: Source::ControlGroup, parties: 1 });
        let more = Budget { bytes: 270 * MIB, from: Source::ControlGroup, parties: 2 };
        assert_eq!(auto.or_more(usual(270 * MIB)), more);
        assert_eq!([auto.or_more(usual(100 * MIB)), auto.or_more(None)], [auto; 2]);
        if let (Some(usual), Some(auto)) = (Budget::usual(), Budget::automatic()) {
            assert!(auto.bytes < usual.bytes && auto.limit().bytes > auto.bytes);
        }
        assert_eq!(Budget::named(7).limit(), Budget::named(7));
    }

    /// A system of these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const STATUS: (&str, &str) =
        ("proc/self/status", "Name:\tx\nVmSize:\t  102400 kB\nVmRSS:\t   10240 kB\n");
    const MEMORY: (&str, &str) = ("proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable:  1048576 kB\n");

    fn found(files: &[(&str, &str)], address_space: Option<u64>) -> Option<(u64, Source)> {
        let root = system(files);
        available(root.path(), address_space).map(|budget| (budget.bytes / MIB, budget.from))
    }

    #[test]
    fn the_least_of_the_figures_counts_and_what_is_held_is_there() {
        assert_eq!(found(&[], None), None);
        assert_eq!(found(&[STATUS, MEMORY], None), Some((1024 + 10, Source::Machine)));
        assert_eq!(found(&[STATUS, MEMORY], Some(600 * MIB)), Some((510, Source::AddressSpace)));
        assert_eq!(found(&[STATUS, MEMORY], Some(50 * MIB)), Some((10, Source::AddressSpace)));
    }

    #[test]
    fn a_control_group_of_the_second_version_counts_with_those_above() {
        let groups = ("proc/self/cgroup", "0::/outer/inner\n");
        let inner = [
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "1\n"),
        ];
        let outer = [
            ("sys/fs/cgroup/outer/memory.max", "536870912\n"),
            ("sys/fs/cgroup/outer/memory.current", "314572800\n"),
            (
                "sys/fs/cgroup/outer/memory.stat",
                "anon 5\ninactive_file 83886080\nactive_file 20971520\nslab 1\n",
            ),
        ];
        assert_eq!(
            found(&[&[STATUS, MEMORY, groups][..], &inner].concat(), None).unwrap().1,
            Source::Machine
        );
        let all = [&[STATUS, MEMORY, groups][..], &inner, &outer].concat();
        assert_eq!(found(&all, None), Some((512 - 300 + 100 + 10, Source::ControlGroup)));
    }

    #[test]
    fn a_control_group_of_the_first_version_counts_in_a_container_too() {
        let groups = ("proc/self/cgroup", "3:cpu,cpuacct:/a\n2:memory:/docker/0123\n1:name=systemd:/x\n");
        let memory = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "67108864\n"),
        ];
        let all = [&[STATUS, MEMORY, groups][..], &memory].concat();
        assert_eq!(found(&all, None), Some((256 - 64 + 10, Source::ControlGroup)));
    }

    #[test]
    fn a_named_budget_is_taken_as_it_is() {
        let named = Budget::named(5);
        assert!(named.allows(5) && !named.allows(6) && !Budget { parties: 2, ..named }.allows(3));
        assert!(Budget::usual().is_none_or(|budget| budget.bytes > 0 && budget.from != Source::Option));
    }
}
