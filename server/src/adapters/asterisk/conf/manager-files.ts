/** The ways into the engine for this service: AMI and the HTTP server for SIP over WebSocket, both on loopback. */
import { consoleAccount } from './instance.ts';
import type { Instance } from './instance.ts';
import { conf, objectName, secret, whole } from './text.ts';
import type { ConfText } from './text.ts';

const port = (n: number, what: string): ConfText => whole(n, what, 1, 65535);

/**
 * Three users. One only receives events and one only sends actions, because events wait behind a long action on the same session.
 * The third only prints console text, so that text in the values of an action never reaches the console. Dialplan steps, variables
 * and RTCP reports are switched off at their source: they are most of the traffic, and the first two carry unescaped text of
 * callers.
 */
export function managerConf(instance: Instance): ConfText {
  const user = (u: { readonly user: string; readonly secret: string }, rights: ConfText): ConfText => conf`
[${objectName(u.user, 'the AMI user')}]
secret = ${secret(u.secret, 'the AMI secret')}
deny = 0.0.0.0/0.0.0.0
deny = ::/0
permit = 127.0.0.1/255.255.255.255
writetimeout = 5000
${rights}`;
  return conf`
[general]
enabled = yes
webenabled = no
bindaddr = 127.0.0.1
port = ${port(instance.ami_port, 'the AMI port')}
displayconnects = no
timestampevents = yes
authtimeout = 10
authlimit = 20
allowmultiplelogin = yes
disabledevents = Newexten,VarSet,RTCPSent,RTCPReceived,DTMFBegin

${user(
  instance.ami_events,
  conf`read = system,call,agent,user,dtmf,security
write =
eventfilter = !Event: ChallengeSent
eventfilter = !Event: SuccessfulAuth
`,
)}
${user(
  instance.ami_actions,
  conf`read =
write = system,call,agent,user,reporting,originate
`,
)}
${user(
  consoleAccount(instance),
  conf`read =
write = command
`,
)}`;
}

export const httpConf = (instance: Instance): ConfText => conf`
[general]
servername = Offhook
enabled = yes
bindaddr = 127.0.0.1
bindport = ${port(instance.http_port, "the engine's HTTP port")}
enablestatic = no
enable_status = no
sessionlimit = 20000
`;
