/** Homes of people and queues by the applied configuration. */
import type { PbxConfig } from '../features/pbx-config/config.ts';
import type { Homes } from '../ports/site.ts';

interface Configured {
  config(): PbxConfig;
}
type Homed = ReadonlyMap<string, string>;
/** O(1) for each question, O(people and queues) after a change of the configuration. */
export function homesOf(directory: Configured): Homes {
  let of: PbxConfig | null = null;
  let people: Homed = new Map();
  let queues: Homed = new Map();
  const follow = (): void => {
    const config = directory.config();
    if (config === of) return;
    of = config;
    people = new Map(
      config.people.flatMap(({ person, engine }) => (engine == null ? [] : [[person.extension, engine]])),
    );
    queues = new Map(config.queues.flatMap(({ name, engine }) => (engine == null ? [] : [[name, engine]])));
  };
  return {
    extension(extension) {
      follow();
      return people.get(extension) ?? null;
    },
    queue(name) {
      follow();
      return queues.get(name) ?? null;
    },
  };
}
