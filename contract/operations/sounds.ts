import { z } from 'zod';
import { Done } from '../session.ts';
import { SoundPath, SoundUploadQuery, SoundsReply, UploadedSound } from '../sounds.ts';
import { area } from '../operation.ts';

export const sounds = area({
  list: {
    method: 'GET',
    path: '/api/v1/config/sounds',
    tag: 'config',
    level: 'admin',
    reply: SoundsReply,
    errors: [],
    summary: "Uploaded sounds, and the names of the engine's own",
  },
  upload: {
    method: 'POST',
    path: '/api/v1/config/sounds',
    tag: 'config',
    audit: 'sounds.upload',
    level: 'admin',
    query: SoundUploadQuery,
    takes: 'audio',
    bodyBytes: 20971520,
    reply: UploadedSound,
    status: 201,
    errors: ['sound_too_long', 'not_audio', 'overloaded', 'storage_full', 'store_unavailable'],
    summary:
      'Upload a sound: WAV, MP3, FLAC, Ogg Opus or Ogg Vorbis, known by its content; the body is the file itself',
  },
  file: {
    method: 'GET',
    path: '/api/v1/config/sounds/:sound',
    tag: 'config',
    level: 'admin',
    params: SoundPath,
    reply: z.string().meta({ format: 'binary' }),
    others: { 206: z.string().meta({ format: 'binary' }) },
    file: true,
    produces: ['audio/wav'],
    errors: ['invalid_request', 'not_found', 'range_not_satisfiable'],
    summary: 'An uploaded sound as it is kept, whole or a part (Range)',
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/config/sounds/:sound',
    tag: 'config',
    action: 'sounds.remove',
    audit: 'sounds.remove',
    level: 'admin',
    params: SoundPath,
    reply: Done,
    errors: ['invalid_request', 'not_found', 'in_use', 'store_unavailable'],
    summary: 'Delete an uploaded sound that nothing uses',
  },
});
