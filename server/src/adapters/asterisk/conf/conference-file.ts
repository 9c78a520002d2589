/** Conferences: their settings, and the PINs that admit participants. */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { pinSteps } from './pin-guesses.ts';
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
/** The conference file; its default sections serve participants that a hand-written file lets dial in. */
export const confbridgeConf = (conferences: readonly Conference[]): ConfText => conf`
[general]

[default_user]
type = user

[default_bridge]
type = bridge

${joined(conferences.map(conference), '')}#tryinclude custom/confbridge.conf
`;

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
  if (own === null && leader === null) return [conf`Answer()`, ...enter(conf`guest`)];
  const secret = (text: string | null): ConfText | null => (text === null ? null : pin(text, `${what}: PIN`));
  const guest = { label: conf`guest`, pin: secret(own), steps: enter(conf`guest`) };
  const leads = { label: conf`leader`, pin: secret(leader), steps: enter(conf`leader`) };
  return pinSteps({
    of: conf`room-${name}`,
    ask: conf`conf-getpin`,
    incorrect: conf`conf-invalidpin`,
    ways: leader === null ? [guest] : [leads, guest],
  });
}
