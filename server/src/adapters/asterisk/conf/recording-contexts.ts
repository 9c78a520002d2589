/**
 * Calls that the site wants recorded, of an extension or of a queue. A recording is of one channel and follows it through
 * transfers, only while it is in a bridge; channels rung from there inherit it, so that one conversation is recorded once.
 * The file begins with the answer: a call without an answer leaves no file. The files of a site that records nothing have none
 * of these steps.
 */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { Site } from '../../../ports/site.ts';
import { RECORDING } from './cel-format.ts';
import { context, exten } from './dialplan-text.ts';
import { soundStep } from './sounds.ts';
import type { Instance } from './instance.ts';
import { conf, dialled, joined, objectName, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;
/** Parts of a site's dialplan that record calls. */
export interface RecordingSteps {
  /** Before a Dial: begins where the rule of the caller's extension requires it. */
  readonly caller: readonly ConfText[];
  /** Before a Queue with a rule. */
  queue(name: ConfText): readonly ConfText[];
  /** Steps before the Dials of a ring group, and options of them. */
  group(group: ConfigBody<'ring_group'>): {
    readonly before: readonly ConfText[];
    readonly options: ConfText;
  };
  /** Options of a Dial: the answering phone is recorded by its own rule, and a recording that was begun before is reported. */
  readonly answered: ConfText;
  /**
   * Sets OFFHOOK_ANNOUNCE to the option of Dial that announces a recording to both sides, if the call to `EXTEN` will be
   * recorded.
   */
  readonly announce: readonly ConfText[];
  /** The option in OFFHOOK_ANNOUNCE. */
  readonly announced: ConfText;
  readonly contexts: ConfText;
}
/** Of calls that no rule records. */
export const NOTHING: RecordingSteps = {
  caller: [],
  queue: () => [],
  group: () => ({ before: [], options: nothing }),
  answered: nothing,
  announce: [],
  announced: nothing,
  contexts: nothing,
};
const RUNS = conf`$\{LEN($\{OFFHOOK_RECORDED})}`;

export function recordingSteps(site: Site, { node }: Pick<Instance, 'node'>): RecordingSteps {
  const extensions = site.extensions.filter((e) => e.recording === 'always');
  const queues = new Set(site.queues.filter((q) => q.recording === 'always').map((q) => q.name));
  const groups = site.ring_groups.some((g) => g.recording === 'always');
  if (extensions.length === 0 && queues.size === 0 && !groups) return NOTHING;
  const said = site.settings.recording_announcement;
  const sound = said === null ? null : soundStep(site, said, 'the announcement of recording');
  const recorded = new Set(extensions.map((e) => e.extension));
  // Engines of one site give their channels equal ids. Nothing of the name was chosen by a caller.
  const file = conf`$\{UNIQUEID}-$\{EPOCH}-${objectName(node, 'the node')}.wav`;
  const begin = (rule: ConfText): readonly ConfText[] => [
    conf`Set(__OFFHOOK_RECORDED=${rule}:${file})`,
    conf`MixMonitor($\{CUT(OFFHOOK_RECORDED,:,3)},b)`,
    conf`(over),Return()`,
  ];
  const BEGIN_EXTENSION = conf`Gosub(record,extension,1)`;
  return {
    caller: [BEGIN_EXTENSION],
    queue: (name) =>
      !queues.has(name)
        ? []
        : [
            ...(sound === null ? [] : [conf`Playback(${sound})`]),
            conf`Gosub(record,queue,1(${slug(name, 'a queue name')}))`,
          ],
    group: ({ name, recording, members }) => {
      const always = recording === 'always';
      // The answering phone is not known yet: both sides hear the announcement if one of the ringing phones is recorded.
      const announcement =
        sound !== null && (always || members.some((m) => recorded.has(m)))
          ? conf`A(${sound}:${sound})`
          : nothing;
      return {
        before: [
          always
            ? conf`Gosub(record,ring_group,1(${slug(name, 'the name of a ring group')}))`
            : BEGIN_EXTENSION,
        ],
        options: conf`${announcement}U(recorded-answer)`,
      };
    },
    answered: conf`U(recorded-answer)`,
    announce:
      sound === null
        ? []
        : [
            conf`Set(OFFHOOK_ANNOUNCE=)`,
            conf`GotoIf($[${RUNS} > 0 | $\{DIALPLAN_EXISTS(recorded-extensions,$\{EXTEN},1)}]?:$[$\{PRIORITY} + ${whole(2, 'steps', 1, 9)}])`,
            conf`Set(OFFHOOK_ANNOUNCE=A(${sound}:${sound}))`,
          ],
    announced: sound === null ? nothing : conf`$\{OFFHOOK_ANNOUNCE}`,
    contexts: joined(
      [
        context(
          conf`recorded-extensions`,
          extensions.map((e) => exten(dialled(e.extension, 'an extension'), [conf`NoOp()`])),
        ),
        context(conf`record`, [
          exten(conf`extension`, [
            conf`GotoIf($[${RUNS} > 0 | "$\{OFFHOOK_EXTENSION}" = ""]?over)`,
            conf`GotoIf($\{DIALPLAN_EXISTS(recorded-extensions,$\{OFFHOOK_EXTENSION},1)}?:over)`,
            ...begin(conf`extension:$\{OFFHOOK_EXTENSION}`),
          ]),
          exten(conf`queue`, [conf`GotoIf($[${RUNS} > 0]?over)`, ...begin(conf`queue:$\{ARG1}`)]),
          exten(conf`ring_group`, [conf`GotoIf($[${RUNS} > 0]?over)`, ...begin(conf`ring_group:$\{ARG1}`)]),
        ]),
        context(conf`recorded-answer`, [
          exten(conf`s`, [
            BEGIN_EXTENSION,
            conf`ExecIf(${RUNS}?CELGenUserEvent(${RECORDING},$\{OFFHOOK_RECORDED}))`,
            conf`Return()`,
          ]),
        ]),
      ],
      '',
    ),
  };
}
