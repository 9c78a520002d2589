/** Data that every engine of a site must have in its own store: an engine that was away receives it from the first one. */
import type { SiteEngine } from '../../ports/engine-site.ts';
import type { StoredCallerRule, StoredCustomer } from '../../ports/engine-verbs.ts';
import type { Mirror } from './mirror.ts';

type Stored<T> = ReadonlyMap<string, T | null>;
/** The changes that turn `has` into `wanted`. */
function changesTo<T>(wanted: Stored<T>, has: Stored<T>): Map<string, T | null> {
  const changes = new Map<string, T | null>();
  for (const key of has.keys()) if (!wanted.has(key)) changes.set(key, null);
  for (const [key, value] of wanted)
    if (!has.has(key) || JSON.stringify(has.get(key)) !== JSON.stringify(value)) changes.set(key, value);
  return changes;
}
async function read<T>(list: (each: (key: string, value: T | null) => void) => Promise<void>) {
  const rows = new Map<string, T | null>();
  await list((key, value) => void rows.set(key, value));
  return rows;
}
const wakeableAt = (one: SiteEngine, signal: AbortSignal) =>
  read<true>((each) => one.storedWakeable((extension) => each(extension, true), { signal }));

/** Makes the stores of `other` as those of `first` are. What its feature codes wrote goes to the first one, which the service reads. */
export async function copyStores(
  first: SiteEngine,
  other: SiteEngine,
  switches: { readonly first: Mirror; readonly other: Mirror },
  signal: AbortSignal,
): Promise<void> {
  const [customers, hasCustomers] = await Promise.all(
    [first, other].map((one) => read<StoredCustomer>((each) => one.storedCustomers(each, { signal }))),
  );
  await other.keepCustomers(changesTo(customers!, hasCustomers!), { signal });
  const [rules, hasRules] = await Promise.all(
    [first, other].map((one) => read<StoredCallerRule>((each) => one.storedCallerRules(each, { signal }))),
  );
  const written = new Map([...hasRules!].filter(([key, rule]) => rule?.by != null && !rules!.has(key)));
  if (written.size > 0) await first.keepCallerRules(written, { signal });
  await other.keepCallerRules(changesTo(new Map([...rules!, ...written]), hasRules!), { signal });
  const [wakeable, hasWakeable] = await Promise.all([first, other].map((one) => wakeableAt(one, signal)));
  await other.keepWakeable(changesTo(wakeable!, hasWakeable!), { signal });
  const [switched, hasSwitched] = [switches.first, switches.other].map(
    (mirror) => new Map(mirror.parts().switches),
  );
  for (const [name, to] of changesTo(switched!, hasSwitched!)) await other.keepSwitch(name, to, { signal });
}
