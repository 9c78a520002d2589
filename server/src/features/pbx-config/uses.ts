/** Which object names which others: an object in use cannot be taken away, and one that names nothing real is not applied. */
import type { ConfigBody, ConfigKind, Destination, SoundRef } from '@offhook/contract/config-objects.ts';
import { allObjects } from './model.ts';
import type { Model, ObjectRef, StoredObject } from './model.ts';

/** `path` is where in the object the other is named, e.g. `choices.2.to`. */
export interface Use extends ObjectRef {
  readonly path: string;
}
const destination = (to: Destination | null | undefined, path: string): Use[] => {
  if (to === null || to === undefined) return [];
  return to.kind === 'hang_up' ? sound(to.play, `${path}.play`) : [{ kind: to.kind, key: to.key, path }];
};
const sound = (ref: SoundRef | null | undefined, path: string): Use[] =>
  ref !== null && ref !== undefined && 'prompt' in ref ? [{ kind: 'prompt', key: ref.prompt, path }] : [];
const named = (kind: ConfigKind, key: string | null, path: string): Use[] =>
  key === null ? [] : [{ kind, key, path }];

const USES: { readonly [K in ConfigKind]?: (body: ConfigBody<K>) => Use[] } = {
  queue: (q) => [
    ...q.members.flatMap((m, i) => named('extension', m.extension, `members.${i}.extension`)),
    ...destination(q.exit?.to, 'exit.to'),
    ...destination(q.otherwise, 'otherwise'),
    ...named('music_class', q.music_class, 'music_class'),
    ...sound(q.announcement, 'announcement'),
    ...sound(q.agent_announcement, 'agent_announcement'),
    ...sound(q.periodic_announcement?.sound, 'periodic_announcement.sound'),
  ],
  ring_group: (g) => [
    ...g.members.flatMap((m, i) => named('extension', m, `members.${i}`)),
    ...destination(g.otherwise, 'otherwise'),
  ],
  menu: (m) => [
    ...sound(m.greeting, 'greeting'),
    ...m.choices.flatMap((c, i) => destination(c.to, `choices.${i}.to`)),
    ...destination(m.otherwise, 'otherwise'),
  ],
  time_condition: (t) => [
    ...t.holidays.flatMap((h, i) => named('holidays', h, `holidays.${i}`)),
    ...destination(t.when_open, 'when_open'),
    ...destination(t.when_closed, 'when_closed'),
    ...destination(t.on_holiday, 'on_holiday'),
  ],
  conference: (c) => named('music_class', c.music_class, 'music_class'),
  parking_lot: (p) => named('music_class', p.music_class, 'music_class'),
  music_class: (m) => m.prompts.flatMap((p, i) => named('prompt', p, `prompts.${i}`)),
  inbound_route: (r) => [...named('trunk', r.trunk, 'trunk'), ...destination(r.to, 'to')],
  outbound_route: (r) => r.trunks.flatMap((t, i) => named('trunk', t.trunk, `trunks.${i}.trunk`)),
  settings: (s) => sound(s.recording_announcement, 'recording_announcement'),
};
/** What an object names. */
export const usesOf = ({ kind, body }: StoredObject): readonly Use[] =>
  (USES[kind] as ((body: unknown) => Use[]) | undefined)?.(body) ?? [];
/** Who names this object, and where. O(objects). */
export function usersOf(model: Model, { kind, key }: ObjectRef): readonly Use[] {
  const users: Use[] = [];
  for (const object of allObjects(model))
    for (const use of usesOf(object))
      if (use.kind === kind && use.key === key)
        users.push({ kind: object.kind, key: object.key, path: use.path });
  return users;
}
