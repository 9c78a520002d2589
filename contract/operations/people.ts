import {
  PeopleQuery,
  PeopleReply,
  PersonPath,
  PersonReply,
  PersonSessionPath,
  PersonSessions,
  SessionsEnded,
} from '../people.ts';
import { Done } from '../session.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'store_unavailable'] as const satisfies readonly ErrorCode[];

export const people = area({
  list: {
    method: 'GET',
    path: '/api/v1/people',
    tag: 'people',
    level: 'admin',
    query: PeopleQuery,
    reply: PeopleReply,
    errors: ['invalid_request', 'store_unavailable'],
    summary: 'People and their sign-in data',
  },
  get: {
    method: 'GET',
    path: '/api/v1/people/:extension',
    tag: 'people',
    level: 'admin',
    params: PersonPath,
    reply: PersonReply,
    errors: ERRORS,
    summary: 'Sign-in data of a person',
  },
  sessions: {
    method: 'GET',
    path: '/api/v1/people/:extension/sessions',
    tag: 'people',
    level: 'admin',
    params: PersonPath,
    reply: PersonSessions,
    errors: ERRORS,
    summary: 'Devices of a person',
  },
  endSession: {
    method: 'DELETE',
    path: '/api/v1/people/:extension/sessions/:id',
    tag: 'people',
    action: 'people.end_session',
    audit: 'session.ended',
    level: 'admin',
    params: PersonSessionPath,
    reply: SessionsEnded,
    errors: ERRORS,
    summary: 'Sign a person out of one device',
  },
  endSessions: {
    method: 'DELETE',
    path: '/api/v1/people/:extension/sessions',
    tag: 'people',
    action: 'people.end_sessions',
    audit: 'session.ended',
    level: 'admin',
    params: PersonPath,
    reply: SessionsEnded,
    errors: ERRORS,
    summary: 'Sign a person out everywhere',
  },
  disableOtp: {
    method: 'POST',
    path: '/api/v1/people/:extension/otp/disable',
    tag: 'people',
    action: 'people.disable_otp',
    audit: 'session.otp_off',
    level: 'admin',
    confirm: true,
    params: PersonPath,
    reply: Done,
    errors: [...ERRORS, 'forbidden'],
    summary: 'Switch off the second factor of another person who lost it',
  },
});
