/* global document, window */
import { Inviter, Registerer, RegistererState, SessionState, UserAgent } from '/sip/index.js';

const NAMES = {
  [SessionState.Initial]: 'calling',
  [SessionState.Establishing]: 'calling',
  [SessionState.Established]: 'up',
  [SessionState.Terminating]: 'ended',
  [SessionState.Terminated]: 'ended',
};
const media = { constraints: { audio: true, video: false } };

let agent;
let registerer;
let session = null;
let rang = false;
let status = 0;
let transferStatus = 0;
let registered = false;
let socketClosed = false;
let incoming = [];

const peer = () => session?.sessionDescriptionHandler?.peerConnection;
const follow = (next) => {
  session = next;
  rang = false;
  status = 0;
  next.stateChange.addListener((state) => {
    if (state !== SessionState.Established || session !== next) return;
    const tracks = peer()
      .getReceivers()
      .map((receiver) => receiver.track);
    document.getElementById('remote').srcObject = new MediaStream(tracks);
  });
};

window.phone = {
  /** Takes nothing but the `sip` object of the login reply, and which of its two WebRTC users to be. */
  async register(sip, username) {
    agent = new UserAgent({
      uri: UserAgent.makeURI(`sip:${username}@${sip.domain}`),
      authorizationUsername: username,
      authorizationPassword: sip.sip_password,
      transportOptions: { server: sip.ws_url, connectionTimeout: 5 },
      sessionDescriptionHandlerFactoryOptions: {
        iceGatheringTimeout: 500,
        peerConnectionConfiguration: { iceServers: sip.turn === null ? [] : [sip.turn] },
      },
      logLevel: 'warn',
      delegate: {
        onInvite: (invitation) => incoming.push(invitation),
        onDisconnect: () => {
          registered = false;
          socketClosed = true;
        },
      },
    });
    await agent.start();
    socketClosed = false;
    registerer = new Registerer(agent, { expires: 300 });
    registerer.stateChange.addListener((state) => {
      registered = state === RegistererState.Registered;
    });
    await registerer.register({ requestDelegate: { onReject: (r) => (status = r.message.statusCode) } });
  },
  async unregister() {
    await registerer.unregister();
  },
  async stop() {
    await agent.stop();
  },
  async call(number) {
    const target = UserAgent.makeURI(`sip:${encodeURIComponent(number)}@${agent.configuration.uri.host}`);
    const inviter = new Inviter(agent, target, {
      sessionDescriptionHandlerOptions: media,
      earlyMedia: false,
    });
    follow(inviter);
    await inviter.invite({
      requestDelegate: {
        onProgress: (r) => {
          if (r.message.statusCode === 180) rang = true;
        },
        onAccept: (r) => (status = r.message.statusCode),
        onReject: (r) => (status = r.message.statusCode),
      },
    });
  },
  /** Takes the next incoming call, ringing it; null while there is none. */
  async take() {
    const next = incoming.shift();
    if (!next) return null;
    follow(next);
    rang = true;
    return { number: next.remoteIdentity.uri.user, name: next.remoteIdentity.displayName };
  },
  async answer() {
    await session.accept({ sessionDescriptionHandlerOptions: media });
    status = 200;
  },
  async reject(code) {
    status = code;
    await session.reject({ statusCode: code });
  },
  async hangup() {
    if (!session || session.state === SessionState.Terminated) return;
    if (session.state === SessionState.Established) await session.bye();
    else if (session instanceof Inviter) await session.cancel();
    else await session.reject();
  },
  async hold(on) {
    session.sessionDescriptionHandlerOptionsReInvite = { hold: on };
    await new Promise((resolve, reject) =>
      session
        .invite({
          requestDelegate: { onAccept: resolve, onReject: () => reject(new Error('hold was refused')) },
        })
        .catch(reject),
    );
  },
  async digits(text) {
    for (const digit of text) session.sessionDescriptionHandler.sendDtmf(digit);
  },
  async transfer(number) {
    transferStatus = 0;
    const target = UserAgent.makeURI(`sip:${number}@${agent.configuration.uri.host}`);
    await session.refer(target, {
      onNotify: (notification) => {
        void notification.accept();
        transferStatus = Number(/^SIP\/2\.0 (\d{3})/.exec(notification.request.body)?.[1] ?? transferStatus);
      },
    });
  },
  state() {
    const call = session ? NAMES[session.state] : 'none';
    return {
      registered,
      socketClosed,
      status,
      transferStatus,
      call: call === 'calling' && rang ? 'ringing' : call,
      waiting: incoming.length,
    };
  },
  /** Audio both ways as the browser's own statistics count it. */
  async stats() {
    const found = { sent: 0, received: 0, energyIn: 0, energyOut: 0, codec: '' };
    const reports = await peer()?.getStats();
    for (const report of reports?.values() ?? []) {
      if (report.type === 'inbound-rtp' && report.kind === 'audio') {
        found.received += report.packetsReceived;
        found.energyIn += report.totalAudioEnergy ?? 0;
        found.codec = reports.get(report.codecId)?.mimeType ?? '';
      }
      if (report.type === 'outbound-rtp' && report.kind === 'audio') found.sent += report.packetsSent;
      if (report.type === 'media-source' && report.kind === 'audio')
        found.energyOut += report.totalAudioEnergy ?? 0;
    }
    return found;
  },
};
window.ready = true;
