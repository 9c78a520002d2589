import { header } from '../ami/frame.ts';

/** Headers of more than one event family, in the engine's spelling. */
export const H = {
  actionId: header('ActionID'),
  message: header('Message'),
  eventList: header('EventList'),
  listItems: header('ListItems'),
  privilege: header('Privilege'),
  timestamp: header('Timestamp'),
  channel: header('Channel'),
  channelState: header('ChannelState'),
  callerNumber: header('CallerIDNum'),
  callerName: header('CallerIDName'),
  connectedNumber: header('ConnectedLineNum'),
  connectedName: header('ConnectedLineName'),
  exten: header('Exten'),
  account: header('AccountCode'),
  uniqueid: header('Uniqueid'),
  linkedid: header('Linkedid'),
  destUniqueid: header('DestUniqueid'),
  queue: header('Queue'),
  position: header('Position'),
  iface: header('Interface'),
  holdTime: header('HoldTime'),
  bridge: header('BridgeUniqueid'),
  bridgeType: header('BridgeType'),
  bridgeTechnology: header('BridgeTechnology'),
} as const;
