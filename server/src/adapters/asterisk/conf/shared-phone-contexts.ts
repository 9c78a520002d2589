/**
 * Shared desk phones. A phone registers at an endpoint of its own; who is signed in at it is in the engine's own store, so that it
 * holds while the service is down: `offhook/phone/<endpoint>` is `<extension>-<ms since 1970>`, and `offhook/at/<extension>` the
 * endpoint. Both must agree: a person who signs in elsewhere, or another person at the same phone, ends the former by one write.
 *
 * Calls of the person ring it as a device of the extension, with the extension's endpoint and the address of the phone, so they
 * have its groups, lamps and records. Calls from it begin in `shared-phone`, which gives them the person's identity.
 */
import type { Site } from '../../../ports/site.ts';
import { dialledPatterns } from '../../../routing/plan.ts';
import { at, context, exten, hangUp, madeOf } from './dialplan-text.ts';
import { MOST_WRONG, gaveGuess, isGuess, returnGuess, same, takeGuess } from './pin-guesses.ts';
import { STORE } from './self-service-contexts.ts';
import { encryption } from './secure-media.ts';
import { conf, dialled, displayName, joined, objectName, pattern, secret, whole } from './text.ts';
import type { ConfText } from './text.ts';

/** Beside the call settings of people, so that one list of the engine has all of them. */
export const PHONES = conf`${STORE}/phone`;
export const AT = conf`${STORE}/at`;
export const SHARED_PHONE = /^desk_[0-9]{1,15}$/;
const PREFIX = conf`desk_`;
/** Names of the events that report the signed-in person, and a refused PIN. */
export const SIGNED = conf`OffhookPhone`;
export const WRONG_PIN = conf`OffhookWrongPin`;
/** Reasons in `SIGNED`. */
export const SIGNED_BY = ['code', 'timeout'] as const;

const nothing = conf``;
const EXTEN = conf`$\{EXTEN}`;
/** Endpoint of the phone, set on its own calls only. */
const PHONE = conf`$\{OFFHOOK_PHONE}`;
const OWN = conf`$\{OFFHOOK_EXTENSION}`;
const NOW_MS = conf`$\{STRFTIME(,,%s%3q)}`;
const REFUSED: readonly ConfText[] = [
  at(conf`refused`, conf`Answer()`),
  conf`Playback(im-sorry)`,
  conf`Hangup()`,
];
/** Device of a person while signed in at a shared phone: idle or in an own call; lamps and queues follow it. */
export const atPhoneState = (who: ConfText): ConfText => conf`Custom:desk-${who}`;
export const AWAY = conf`INVALID`;
export const IDLE = conf`NOT_INUSE`;
const lamp = (who: ConfText, state: ConfText): ConfText =>
  conf`Set(DEVICE_STATE(${atPhoneState(who)})=${state})`;

/** The endpoint of a shared phone. Its pick-up group and language are those of the person. */
export const sharedPhoneSections = (
  site: Pick<Site, 'shared_phones'>,
): Readonly<Record<'endpoints' | 'auths' | 'aors', ConfText>> => {
  const all = site.shared_phones.map((phone) => ({
    name: objectName(phone.endpoint, `phone ${phone.name}: endpoint`),
    title: displayName(phone.title, `phone ${phone.name}: title`),
    password: secret(phone.sip_password, `phone ${phone.name}: SIP password`),
    srtp: phone.srtp,
  }));
  return {
    endpoints: joined(
      all.map(
        ({ name, title, srtp }) => conf`
[${name}](sip)
context = shared-phone
auth = ${name}
aors = ${name}
callerid = "${title}" <>
set_var = OFFHOOK_PHONE=${name}
set_var = TRANSFER_CONTEXT=internal
${encryption(srtp)}`,
      ),
      '',
    ),
    auths: joined(
      all.map(
        ({ name, password }) => conf`
[${name}](credentials)
username = ${name}
password = ${password}
`,
      ),
      '',
    ),
    aors: joined(
      all.map(
        ({ name }) => conf`
[${name}](addresses)
max_contacts = 1
`,
      ),
      '',
    ),
  };
};

/** Context of a shared phone's calls: as its person, or a number that needs none. */
const DIALLED = context(conf`shared-phone`, [
  exten(conf`_[+*#0-9]!`, [
    conf`Gosub(at-phone,s,1(${PHONE}))`,
    conf`Set(OFFHOOK_EXTENSION=$\{GOSUB_RETVAL})`,
    conf`GotoIf($\{LEN(${OWN})}?own)`,
    conf`GotoIf($\{DIALPLAN_EXISTS(shared-phone-free,${EXTEN},1)}?internal,${EXTEN},1)`,
    conf`Progress()`,
    conf`Playback(feature-not-avail-line,noanswer)`,
    hangUp('rejected'),
    at(conf`own`, conf`Gosub(be-person,s,1)`),
    conf`GotoIf($\{DIALPLAN_EXISTS(internal,${EXTEN},1)}?internal,${EXTEN},1)`,
    hangUp('no_number'),
  ]),
]);
/** Numbers that need no person: signing in and calls for help. */
const free = ({ feature_codes }: Site): ConfText =>
  context(conf`shared-phone-free`, [
    conf`include => help-numbers
`,
    ...feature_codes
      .filter(({ does }) => does.action === 'sign_in')
      .flatMap((code) => dialledPatterns(code))
      .map((p) => exten(pattern(p, 'the code to sign in'), [conf`NoOp()`])),
  ]);
/** Sets GOSUB_RETVAL to the extension that is signed in at the phone ARG1. */
const atPhone = ({ settings }: Site): ConfText =>
  context(conf`at-phone`, [
    exten(conf`s`, [
      conf`Set(LOCAL(KEPT)=$\{DB(${PHONES}/$\{ARG1})})`,
      conf`Set(LOCAL(WHO)=$\{CUT(KEPT,-,1)})`,
      conf`GotoIf($\{LEN($\{WHO})}?:none)`,
      conf`GotoIf($["$\{DB(${AT}/$\{WHO})}" = "$\{ARG1}"]?:none)`,
      conf`GotoIf($\{DIALPLAN_EXISTS(people,$\{WHO},1)}?:none)`,
      ...(settings.sign_out_hours === null
        ? []
        : [
            conf`GotoIf($[$\{CUT(KEPT,-,2)} + ${whole(settings.sign_out_hours * 3_600_000, 'hours until the sign-out', 1, 1e9)} > ${NOW_MS}]?still)`,
            conf`Gosub(sign-off,s,1($\{ARG1},timeout))`,
            conf`Return()`,
          ]),
      at(conf`still`, conf`Return($\{WHO})`),
      at(conf`none`, conf`Return()`),
    ]),
  ]);
/** Signs the person out of the phone ARG1; ARG2 is the reason. */
const SIGN_OFF = context(conf`sign-off`, [
  exten(conf`s`, [
    conf`Set(LOCAL(KEPT)=$\{DB(${PHONES}/$\{ARG1})})`,
    conf`Set(LOCAL(WHO)=$\{CUT(KEPT,-,1)})`,
    conf`Set(LOCAL(WAS)=$\{DB_DELETE(${PHONES}/$\{ARG1})})`,
    conf`GotoIf($["$\{DB(${AT}/$\{WHO})}" = "$\{ARG1}"]?:told)`,
    conf`Set(LOCAL(WAS)=$\{DB_DELETE(${AT}/$\{WHO})})`,
    lamp(conf`$\{WHO}`, AWAY),
    at(conf`told`, conf`UserEvent(${SIGNED},Phone: $\{ARG1},Extension: ,Reason: $\{ARG2})`),
    conf`Return()`,
  ]),
]);
const ofPerson = (field: ConfText): ConfText => conf`$\{PJSIP_ENDPOINT(${OWN},${field})}`;
/** Gives this call of a shared phone the identity of its person; the account identifies it in the call records. */
const BE_PERSON = context(conf`be-person`, [
  exten(conf`s`, [
    conf`Set(CALLERID(all)=${ofPerson(conf`callerid`)})`,
    conf`Set(CHANNEL(language)=${ofPerson(conf`language`)})`,
    conf`Set(CHANNEL(namedcallgroup)=${ofPerson(conf`named_call_group`)})`,
    conf`Set(CHANNEL(namedpickupgroup)=${ofPerson(conf`named_pickup_group`)})`,
    conf`Set(CHANNEL(accountcode)=${OWN})`,
    conf`Set(GROUP(at-phone)=${PHONE})`,
    lamp(OWN, conf`INUSE`),
    conf`Set(CHANNEL(hangup_handler_push)=left-phone,s,1)`,
    conf`Return()`,
  ]),
]);
/** Runs when a call of a shared phone ends; the call itself still counts. */
const LEFT_PHONE = context(conf`left-phone`, [
  exten(conf`s`, [
    conf`GotoIf($[$\{GROUP_COUNT(${PHONE}@at-phone)} > 1]?over)`,
    conf`GotoIf($["$\{DB(${AT}/${OWN})}" = "${PHONE}"]?:over)`,
    lamp(OWN, IDLE),
    at(conf`over`, conf`Return()`),
  ]),
]);
/**
 * Leaves in GOSUB_RETVAL what rings the shared phone at which the extension is signed in. A phone chooses its own address, so one of
 * other characters than an address has is dialled by its name.
 */
const AT_DEVICES = context(conf`devices-at`, [
  exten(conf`_X.`, [
    conf`Set(LOCAL(PHONE)=$\{DB(${AT}/${EXTEN})})`,
    conf`GotoIf($\{LEN($\{PHONE})}?:none)`,
    conf`Gosub(at-phone,s,1($\{PHONE}))`,
    conf`GotoIf($["$\{GOSUB_RETVAL}" = "${EXTEN}"]?:none)`,
    conf`Set(LOCAL(FOUND)=$\{PJSIP_DIAL_CONTACTS($\{PHONE})})`,
    conf`GotoIf($\{LEN($\{FOUND})}?:none)`,
    conf`GotoIf($[${madeOf(conf`$\{FOUND}`, 'unquoted')} & $\{REGEX("^PJSIP/desk_[0-9]+/sips?:[]A-Za-z0-9@:\\;=._~%+*!/?[-]+$" $\{FOUND})}]?:name)`,
    conf`Return(PJSIP/${EXTEN}/$\{CUT(FOUND,/,3-)})`,
    at(conf`name`, conf`Return(PJSIP/$\{PHONE})`),
    at(conf`none`, conf`Return()`),
  ]),
]);

const TYPED = conf`$\{OFFHOOK_TYPED}`;
const PIN = conf`$\{OFFHOOK_PIN}`;
/**
 * Signs in the extension in OFFHOOK_TYPED, or one that is asked for. The lock keeps guesses at many phones in one row; an unknown
 * extension is refused as a wrong PIN is, and counts at the phone only. A PIN that is not compared because of guesses at other
 * phones does not count at this one.
 */
const SIGN_IN = context(conf`sign-in`, [
  exten(conf`s`, [
    conf`GotoIf($["${PHONE}" = "" | "$\{BLINDTRANSFER}" != ""]?refused)`,
    conf`Answer()`,
    conf`GotoIf($\{LEN(${TYPED})}?typed)`,
    conf`Read(OFFHOOK_TYPED,agent-user,20,,1,10)`,
    at(conf`typed`, conf`Read(OFFHOOK_PIN,agent-pass,20,,1,10)`),
    conf`Set(OFFHOOK_TYPED=$\{FILTER(0-9,${TYPED})})`,
    conf`Set(OFFHOOK_PIN=$\{FILTER(0-9,${PIN})})`,
    conf`GotoIf($\{LOCK(sign-in)}?:refused)`,
    conf`GotoIf(${isGuess(PIN)}?:many)`,
    takeGuess(PHONE, MOST_WRONG.phone),
    conf`GotoIf(${gaveGuess}?:many)`,
    conf`GotoIf($[$\{LEN(${TYPED})} > 0 & $\{DIALPLAN_EXISTS(people,${TYPED},1)}]?:unknown)`,
    conf`GotoIf($\{DIALPLAN_EXISTS(not-at-phones,${TYPED},1)}?unknown)`,
    takeGuess(TYPED, MOST_WRONG.sign_in),
    conf`GotoIf(${gaveGuess}?:elsewhere)`,
    conf`GotoIf(${same(PIN, conf`$\{VM_INFO(${TYPED}@default,password)}`)}?right)`,
    at(conf`unknown`, conf`UserEvent(${WRONG_PIN},Phone: ${PHONE},Extension: ${TYPED})`),
    conf`Goto(many)`,
    at(conf`elsewhere`, returnGuess(PHONE)),
    at(conf`many`, conf`Set(LOCAL(FREED)=$\{UNLOCK(sign-in)})`),
    conf`Playback(vm-incorrect)`,
    conf`Hangup()`,
    at(conf`right`, returnGuess(TYPED)),
    returnGuess(PHONE),
    conf`Set(LOCAL(KEPT)=$\{DB(${PHONES}/${PHONE})})`,
    conf`Set(LOCAL(OTHER)=$\{CUT(KEPT,-,1)})`,
    conf`GotoIf($["$\{OTHER}" != "" & "$\{OTHER}" != "${TYPED}" & "$\{DB(${AT}/$\{OTHER})}" = "${PHONE}"]?:put)`,
    conf`Set(LOCAL(WAS)=$\{DB_DELETE(${AT}/$\{OTHER})})`,
    lamp(conf`$\{OTHER}`, AWAY),
    at(conf`put`, conf`Set(LOCAL(SINCE)=${NOW_MS})`),
    conf`Set(DB(${PHONES}/${PHONE})=${TYPED}-$\{SINCE})`,
    conf`Set(DB(${AT}/${TYPED})=${PHONE})`,
    lamp(TYPED, IDLE),
    conf`Set(LOCAL(FREED)=$\{UNLOCK(sign-in)})`,
    conf`UserEvent(${SIGNED},Phone: ${PHONE},Extension: ${TYPED},Since: $\{SINCE},Reason: code)`,
    conf`Playback(agent-loginok)`,
    conf`Hangup()`,
    ...REFUSED,
  ]),
]);
const SIGN_OUT = context(conf`sign-out`, [
  exten(conf`s`, [
    conf`GotoIf($["${PHONE}" = "" | "${OWN}" = "" | "$\{BLINDTRANSFER}" != ""]?refused)`,
    conf`Gosub(sign-off,s,1(${PHONE},code))`,
    conf`Answer()`,
    conf`Playback(agent-loggedoff)`,
    conf`Hangup()`,
    ...REFUSED,
  ]),
]);

/** Steps that replace a shared phone in OFFHOOK_OTHER by its person, who alone is then responsible; empty without a person. */
export const personOfPhone = ({ shared_phones }: Pick<Site, 'shared_phones'>): readonly ConfText[] =>
  shared_phones.length === 0
    ? []
    : [
        conf`GotoIf($["$\{OFFHOOK_OTHER:0:5}" = "${PREFIX}"]?:phone)`,
        conf`Gosub(at-phone,s,1($\{OFFHOOK_OTHER}))`,
        conf`Set(OFFHOOK_OTHER=$\{GOSUB_RETVAL})`,
        conf`Set(OFFHOOK_BY=)`,
        at(conf`phone`, conf`NoOp()`),
      ];
/** Nothing where the site has no shared phone. */
export const sharedPhoneContexts = (site: Site): ConfText =>
  site.shared_phones.length === 0
    ? nothing
    : joined(
        [
          DIALLED,
          free(site),
          atPhone(site),
          SIGN_OFF,
          BE_PERSON,
          LEFT_PHONE,
          AT_DEVICES,
          SIGN_IN,
          SIGN_OUT,
          context(
            conf`not-at-phones`,
            site.extensions
              .filter(({ endpoints }) => !endpoints.some(({ kind }) => kind === 'sip'))
              .map((e) => exten(dialled(e.extension, 'an extension'), [conf`NoOp()`])),
          ),
        ],
        '',
      );
