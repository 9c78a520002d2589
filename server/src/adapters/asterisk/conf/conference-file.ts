/** Conferences: what each is like, and who gets in. */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { at, hangUp } from './dialplan-text.ts';
import { musicClass } from './music-file.ts';
import { conf, joined, pin, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';

type Conference = ConfigBody<'conference'>;
const yes = (is: boolean): ConfText => (is ? conf`yes` : conf`no`);

function conference(c: Conference): ConfText {
  const name = slug(c.name, 'the name of a conference');
  const what = `conference ${name}`;
  const guest = conf`
type = user
quiet = ${yes(!c.announce)}
announce_only_user = no
music_on_hold_when_empty = yes
music_on_hold_class = ${musicClass(c.music_class, `${what}: music`)}
dsp_drop_silence = yes
`;
  return conf`
[room-${name}]
type = bridge
max_members = ${whole(c.max_members, `${what}: members at most`, 0, 500)}
sound_join = confbridge-join
sound_leave = confbridge-leave

[guest-${name}]
${guest}wait_marked = ${yes(c.wait_for_leader)}

[leader-${name}]
${guest}admin = yes
marked = yes

`;
}
/** Sections that stand in it for whoever dials in by a hand-written file. */
export const confbridgeConf = (conferences: readonly Conference[]): ConfText => conf`
[general]

[default_user]
type = user

[default_bridge]
type = bridge

${joined(conferences.map(conference), '')}#tryinclude custom/confbridge.conf
`;

/** How often a PIN may be wrong, and how long nothing may be pressed. */
const TRIES = conf`3`;
const PIN_SECONDS = conf`10`;
/** The dialplan asks for the PIN, because the engine's own conferences know but one. */
export function conferenceSteps(c: Conference): readonly ConfText[] {
  const name = slug(c.name, 'the name of a conference');
  const what = `conference ${name}`;
  const enter = (as: ConfText): readonly ConfText[] => [
    conf`ConfBridge(${name},room-${name},${as}-${name})`,
    conf`Hangup()`,
  ];
  const own = c.pin ?? null;
  const leader = c.leader_pin ?? null;
  const answer = [conf`Answer()`];
  if (own === null && leader === null) return [...answer, ...enter(conf`guest`)];
  const whoKnows = (secret: string, as: ConfText): ConfText =>
    conf`GotoIf($["$\{OFFHOOK_PIN}" = "${pin(secret, `${what}: PIN`)}"]?${as})`;
  return [
    ...answer,
    conf`Set(OFFHOOK_TRIES=0)`,
    at(conf`again`, conf`Set(OFFHOOK_TRIES=$[$\{OFFHOOK_TRIES} + 1])`),
    conf`GotoIf($[$\{OFFHOOK_TRIES} > ${TRIES}]?refused)`,
    conf`Read(OFFHOOK_PIN,conf-getpin,12,,1,${PIN_SECONDS})`,
    ...(leader === null ? [] : [whoKnows(leader, conf`leader`)]),
    own === null ? conf`GotoIf($["$\{OFFHOOK_PIN}" = ""]?guest)` : whoKnows(own, conf`guest`),
    conf`Playback(conf-invalidpin)`,
    conf`Goto(again)`,
    at(conf`refused`, hangUp('rejected')),
    at(conf`guest`, conf`NoOp()`),
    ...enter(conf`guest`),
    ...(leader === null ? [] : [at(conf`leader`, conf`NoOp()`), ...enter(conf`leader`)]),
  ];
}
