import { Health, Readiness } from '../health.ts';
import { Ping } from '../session.ts';
import { area } from '../operation.ts';

export const frontDoor = area('sessions', {
  ping: {
    method: 'GET',
    path: '/api/mobile/ping.php',
    level: 'public',
    identify: true,
    reply: Ping,
    errors: [],
    summary: 'Is this the right server?',
  },
});
export const health = area('health', {
  live: {
    method: 'GET',
    path: '/healthz',
    level: 'public',
    reply: Health,
    errors: [],
    summary: 'The process answers',
  },
  ready: {
    method: 'GET',
    path: '/readyz',
    level: 'public',
    identify: true,
    reply: Readiness,
    others: { 503: Readiness },
    errors: [],
    summary: 'The service can do its work; details for Admin',
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    level: 'admin',
    errors: [],
    summary: 'Prometheus text format',
  },
});
