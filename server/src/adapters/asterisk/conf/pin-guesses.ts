/**
 * PINs that callers type. Wrong ones are counted in the engine's own store, so that a PIN cannot be tried out call by call, also
 * while the service is down: `offhook-wrong/<key>` is `<number>-<first of them, seconds since 1970>`.
 */
import { at, context, exten, hangUp } from './dialplan-text.ts';
import { conf, joined, whole } from './text.ts';
import type { ConfText } from './text.ts';

const WRONG = conf`offhook-wrong`;
const WRONG_SECONDS = conf`900`;
const NOW_S = conf`$\{STRFTIME(,,%s)}`;
/** Wrong PINs in one call, and the longest time without a key. */
const TRIES = conf`3`;
const PIN_SECONDS = conf`10`;
/** Wrong PINs of one mailbox or conference: of one extension, and of all callers outside together. */
const MOST_GUESSES = 10;
const MOST = whole(MOST_GUESSES, 'most wrong PINs', 1, 1_000);

/** Reads a counter of wrong PINs into local variables; one whose time is over is 0. */
export const readWrong = (name: ConfText, key: ConfText): readonly ConfText[] => [
  conf`Set(LOCAL(KEPT)=$\{DB(${WRONG}/${key})})`,
  conf`Set(LOCAL(${name})=$\{IF($[0$\{CUT(KEPT,-,2)} + ${WRONG_SECONDS} > ${NOW_S}]?$\{CUT(KEPT,-,1)}:0)})`,
  conf`Set(LOCAL(${name}SINCE)=$\{IF($[$\{${name}} > 0]?$\{CUT(KEPT,-,2)}:${NOW_S})})`,
];
export const countWrong = (name: ConfText, key: ConfText): ConfText =>
  conf`Set(DB(${WRONG}/${key})=$[$\{${name}} + 1]-$\{${name}SINCE})`;
export const forgetWrong = (key: ConfText): ConfText => conf`Set(LOCAL(WAS)=$\{DB_DELETE(${WRONG}/${key})})`;
/** Texts are compared: as numbers, 0012 would be 12. */
export const same = (a: ConfText, b: ConfText): ConfText => conf`$["x${a}" = "x${b}"]`;

const PIN = conf`$\{OFFHOOK_PIN}`;
const FREE = conf`Set(OFFHOOK_FREED=$\{UNLOCK(pin-guess)})`;
interface Pins {
  /** Object that the PIN protects. */
  readonly of: ConfText;
  readonly ask: ConfText;
  readonly incorrect: ConfText;
  /** Steps for each PIN, or for none where `pin` is null; they end the call. */
  readonly ways: readonly {
    readonly label: ConfText;
    readonly pin: ConfText | null;
    readonly steps: readonly ConfText[];
  }[];
}
/** Asks for a PIN. The lock keeps guesses of many calls in one row. */
export function pinSteps({ of, ask, incorrect, ways }: Pins): readonly ConfText[] {
  const key = conf`${of}-$\{IF($[$\{LEN($\{OFFHOOK_EXTENSION})} > 0]?$\{OFFHOOK_EXTENSION}:outside)}`;
  return [
    conf`Answer()`,
    conf`Set(OFFHOOK_TRIES=0)`,
    at(conf`again`, conf`Set(OFFHOOK_TRIES=$[$\{OFFHOOK_TRIES} + 1])`),
    conf`GotoIf($[$\{OFFHOOK_TRIES} > ${TRIES}]?refused)`,
    conf`Read(OFFHOOK_PIN,${ask},12,,1,${PIN_SECONDS})`,
    conf`Set(OFFHOOK_PIN=$\{FILTER(0-9,${PIN})})`,
    conf`GotoIf($\{LOCK(pin-guess)}?:refused)`,
    ...ways.filter((way) => way.pin === null).map((way) => conf`GotoIf($["${PIN}" = ""]?${way.label})`),
    conf`Gosub(pin-guess,s,1(${key}))`,
    conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?many)`,
    ...ways.flatMap((way) =>
      way.pin === null ? [] : [conf`GotoIf($[$\{LEN(${PIN})} > 3 & ${same(PIN, way.pin)}]?${way.label})`],
    ),
    conf`Gosub(pin-wrong,s,1(${key}))`,
    FREE,
    conf`Playback(${incorrect})`,
    conf`Goto(again)`,
    at(conf`many`, FREE),
    conf`Playback(${incorrect})`,
    at(conf`refused`, hangUp('rejected')),
    ...ways.flatMap(({ label, steps }) => [at(label, FREE), ...steps]),
  ];
}
/** Whether ARG1 was guessed too often, as a text in GOSUB_RETVAL; and one more wrong PIN of it. */
export const PIN_GUESSES = joined(
  [
    context(conf`pin-guess`, [
      exten(conf`s`, [
        ...readWrong(conf`GUESSED`, conf`$\{ARG1}`),
        conf`Return($\{IF($[$\{GUESSED} >= ${MOST}]?many:)})`,
      ]),
    ]),
    context(conf`pin-wrong`, [
      exten(conf`s`, [
        ...readWrong(conf`GUESSED`, conf`$\{ARG1}`),
        countWrong(conf`GUESSED`, conf`$\{ARG1}`),
        conf`Return()`,
      ]),
    ]),
  ],
  '',
);
