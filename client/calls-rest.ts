/** Typed requests of calls: what goes on, and what is done to it. */
import type { z } from 'zod';
import type {
  DigitsRequest,
  LegChoice,
  ListenRequest,
  NewCall,
  OperationReply,
  OwnDeviceChoice,
  ParkReply,
  PickupRequest,
  RecordRequest,
  RetrieveRequest,
  TransferReply,
  TransferRequest,
  TransferStarted,
} from '@offhook/contract/call-control.ts';
import type { CallSettings, CallSettingsReply } from '@offhook/contract/call-settings.ts';
import type { CallReply, CallsReply } from '@offhook/contract/calls.ts';
import type { NewQuality, QualityReply } from '@offhook/contract/conversation-list.ts';
import type { ParkingReply } from '@offhook/contract/parking.ts';
import { at } from './rest.ts';
import type { Request, RequestOptions } from './rest.ts';

type Reply<S extends z.ZodType> = Promise<z.output<S>>;
type Body<S extends z.ZodType> = Readonly<z.input<S>>;

export function createCallsRest(request: Request) {
  return {
    list: (signal?: AbortSignal): Reply<typeof CallsReply> =>
      request('GET', '/api/v1/calls', undefined, { signal }),
    get: (id: string, signal?: AbortSignal): Reply<typeof CallReply> =>
      request('GET', at`/api/v1/calls/${id}`, undefined, { signal }),
    /** The parked calls of the site. */
    parked: (signal?: AbortSignal): Reply<typeof ParkingReply> =>
      request('GET', '/api/v1/parking', undefined, { signal }),
    /** The own devices ring first, then the number is called. */
    originate: (call: Body<typeof NewCall>, options?: RequestOptions): Reply<typeof OperationReply> =>
      request('POST', '/api/v1/calls', call, options),
    /** The own part of a call; for supervisors without a part in it, the whole call. */
    hangup: (
      id: string,
      leg: Body<typeof LegChoice> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/hangup`, leg, options),
    /** Blind, or attended: that one goes on with `swapTransfer`, `completeTransfer` or `cancelTransfer`. */
    transfer: (
      id: string,
      how: Body<typeof TransferRequest>,
      options?: RequestOptions,
    ): Reply<typeof TransferStarted> => request('POST', at`/api/v1/calls/${id}/transfer`, how, options),
    transferOf: (id: string, signal?: AbortSignal): Reply<typeof TransferReply> =>
      request('GET', at`/api/v1/calls/${id}/transfer`, undefined, { signal }),
    swapTransfer: (id: string, options?: RequestOptions): Reply<typeof OperationReply> =>
      request('POST', at`/api/v1/calls/${id}/transfer/swap`, undefined, options),
    completeTransfer: (id: string, options?: RequestOptions): Reply<typeof OperationReply> =>
      request('POST', at`/api/v1/calls/${id}/transfer/complete`, undefined, options),
    cancelTransfer: (id: string, options?: RequestOptions): Reply<typeof OperationReply> =>
      request('POST', at`/api/v1/calls/${id}/transfer/cancel`, undefined, options),
    hold: (
      id: string,
      leg: Body<typeof LegChoice> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/hold`, leg, options),
    /** From hold, or from a slot. */
    retrieve: (
      id: string,
      how: Body<typeof RetrieveRequest> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/retrieve`, how, options),
    park: (id: string, leg: Body<typeof LegChoice> = {}, options?: RequestOptions): Reply<typeof ParkReply> =>
      request('POST', at`/api/v1/calls/${id}/park`, leg, options),
    pickup: (
      id: string,
      how: Body<typeof PickupRequest> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/pickup`, how, options),
    /** Whatever rings there, where the call is not known. */
    pickupAt: (
      extension: string,
      how: Body<typeof OwnDeviceChoice> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> =>
      request('POST', at`/api/v1/extensions/${extension}/pickup`, how, options),
    dtmf: (
      id: string,
      how: Body<typeof DigitsRequest>,
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/dtmf`, how, options),
    record: (
      id: string,
      how: Body<typeof RecordRequest>,
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/record`, how, options),
    /** Silence is recorded, so that something said now is not kept, until it is resumed. */
    pauseRecording: (
      id: string,
      leg: Body<typeof LegChoice> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/record/pause`, leg, options),
    resumeRecording: (
      id: string,
      leg: Body<typeof LegChoice> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/record/resume`, leg, options),
    /** Supervisors: to hear a call, to speak to one side of it, to speak to both. */
    listen: (
      id: string,
      how: Body<typeof ListenRequest> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/listen`, how, options),
    whisper: (
      id: string,
      how: Body<typeof ListenRequest> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/whisper`, how, options),
    barge: (
      id: string,
      how: Body<typeof ListenRequest> = {},
      options?: RequestOptions,
    ): Reply<typeof OperationReply> => request('POST', at`/api/v1/calls/${id}/barge`, how, options),
    /** How it sounded, from who is or was in it; `not_found` for the moment until it is in the history. */
    reportQuality: (
      id: string,
      report: Body<typeof NewQuality>,
      options?: RequestOptions,
    ): Reply<typeof QualityReply> => request('POST', at`/api/v1/calls/${id}/quality`, report, options),
    /** What calls from here may cost. */
    settings: (signal?: AbortSignal): Reply<typeof CallSettingsReply> =>
      request('GET', '/api/v1/settings/calls', undefined, { signal }),
    setSettings: (settings: Body<typeof CallSettings>): Reply<typeof CallSettingsReply> =>
      request('PUT', '/api/v1/settings/calls', settings),
  };
}
