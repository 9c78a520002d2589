/** Refusals of requests, streams and webhooks in Turkish. */
export const requests: Readonly<Record<string, string>> = {
  'not an extension': 'bir dahili numara değil',
  'a figure is named twice': 'bir gösterge iki kez yazılmış',
  'a queue has two tiles': 'bir kuyruğun iki kutusu var',
  'a part is named twice': 'bir bölüm iki kez yazılmış',
  'a figure has two thresholds': 'bir göstergenin iki eşiği var',
  'control characters are not part of a name': 'denetim karakterleri bir adda yer alamaz',
  'a queue is named twice': 'bir kuyruk iki kez yazılmış',
  'not an id of a board': 'bir pano numarası değil',
  'letters, digits, and " ._-" between them': 'harfler, rakamlar ve bunların arasında " ._-"',
  'not an id of a callback': 'bir geri aramanın kimliği değil',
  'not an API key': 'bir API anahtarı değil',
  'goes with the kind ldap': 'ldap türüyle birlikte verilir',
  'not an LDAP attribute': 'bir LDAP özniteliği değil',
  'has more than 10 attributes': '10 öznitelikten fazla içeriyor',
  'not an id of a source': 'bir kaynak kimliği değil',
  'not an id of a network': 'bir ağ kimliği değil',
  'more than ten values': 'ondan fazla değer',
  'not a name or address': 'bir ad ya da adres değil',
  'this engine has no ways to check': 'bu santralin denetlenecek yolu yok',
  'no node leads the site at the moment; try again shortly':
    'şu anda siteyi yöneten düğüm yok; birazdan yeniden deneyin',
  'the leading node gave no answer: it is not known whether the request was carried out; a repeat with the same Idempotency-Key is safe':
    'yöneten düğüm yanıt vermedi: isteğin yerine getirilip getirilmediği bilinmiyor; aynı Idempotency-Key ile yinelemek zararsızdır',
  'this node is a standby; the active one answers': 'bu düğüm yedekte; yanıtı yöneten düğüm verir',
  'this node cannot tell whether another one leads the site now':
    'bu düğüm şu anda siteyi başka birinin yönetip yönetmediğini bilemiyor',
  'the engine is not connected': 'santral bağlı değil',
  'a check of the ways is under way': 'yolların denetimi sürüyor',
  'host: name or address of the site for other machines; the network has no external_address':
    'host: sitenin öteki makineler için adı ya da adresi; ağın external_address değeri yok',
  'SIP listens on {0} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN':
    'SIP yalnızca {0} adresinde dinliyor, ona başka makine ulaşamaz: OFFHOOK_SIP_LISTEN ayarlayın',
  'not an id of a rule': 'bir kural kimliği değil',
  'holds a colon or a control character': 'iki nokta ya da denetim karakteri içeriyor',
  'not an id of a customer': 'bir müşteri kimliği değil',
  'not an id of a display key': 'bir ekran anahtarının numarası değil',
  'not the id of a call or a leg': 'bir çağrının ya da ayağının kimliği değil',
  'not digits': 'yalnızca rakam değil',
  'not up to 15 digits, with or without a + in front': 'en çok 15 rakam değil (başında + olabilir)',
  'a line of at most 200 characters': 'en çok 200 karakterlik tek bir satır olmalı',
  'not an address that others can reach': 'başkalarının erişebileceği bir adres değil',
  'fewer than four ports': 'dörtten az port',
  'not 1 to 40 of a-z 0-9 _ -': 'a-z 0-9 _ - karakterlerinden 1 ile 40 tane değil',
  'not 2 to 10 digits, the first not 0': 'ilki 0 olmayan 2 ile 10 rakam değil',
  "not 1 to 80 letters, digits, single spaces or . ' ( ) & / + _ -":
    "1 ile 80 harf, rakam, tek boşluk ya da . ' ( ) & / + _ - değil",
  'more than 79 bytes of UTF-8': 'UTF-8 olarak 79 bayttan uzun',
  "not 1 to 64 letters, digits, single spaces or . ' ( ) & / + _ -":
    "1 ile 64 harf, rakam, tek boşluk ya da . ' ( ) & / + _ - değil",
  'not 4 to 12 digits': '4 ile 12 rakam değil',
  'not the name of a sound': 'bir sesin adı değil',
  'not a service number': 'bir hizmet numarası değil',
  'not 1 to 64 of a-z 0-9 . _ @ -': 'a-z 0-9 . _ @ - karakterlerinden 1 ile 64 tane değil',
  'one of them twice': 'biri iki kez yazılmış',
  'not 12 hexadecimal digits': '12 onaltılık basamak değil',
  'not a language such as en, fr or pt_BR': 'en, fr veya pt_BR gibi bir dil değil',
  'not 43 of A-Z a-z 0-9 _ -': 'A-Z a-z 0-9 _ - karakterlerinden 43 tane değil',
  'not 1 to 20 of a-z _': 'a-z _ arasından 1 ila 20 karakter değil',
  'not 1 to 40 of 0-9 + * # a-z _ -': '0-9 + * # a-z _ - karakterlerinden 1 ile 40 tane değil',
  'not 1 to 32 of 0-9 * #, with or without a + in front':
    'başında + olsun olmasın 0-9 * # karakterlerinden 1 ile 32 tane değil',
  'not 22 to 128 of A-Z a-z 0-9 _ -': 'A-Z a-z 0-9 _ - karakterlerinden 22 ile 128 tane değil',
  'not one key': 'tek bir tuş değil',
  'not a time such as 08:30': '08:30 gibi bir saat değil',
  'not the id of a sound': 'bir sesin kimliği değil',
  'a dot at its end': 'sonunda nokta var',
  'not 1 to 64 of A-Z a-z 0-9 + . _ -': 'A-Z a-z 0-9 + . _ - karakterlerinden 1 ile 64 tane değil',
  'not 1 to 128 printable characters other than ; \\':
    '; ve \\ dışında 1 ile 128 yazdırılabilir karakter değil',
  'matches nearly everything': 'hemen her numaraya uyuyor',
  'not a + and 1 to 6 digits, the first not 0': '+ ve ilki 0 olmayan 1-6 rakam değil',
  'not digits and X, Z, N with . or ! at the end': 'rakamlar ve X, Z, N, sonunda . ya da ! değil',
  'not the id of a feature code, such as agent.login': 'agent.login gibi bir özellik kodunun kimliği değil',
  'not * or # and 1 to 6 digits': '* ya da # ve ardından 1 ile 6 rakam değil',
  'not a number or a code': 'bir numara ya da kod değil',
  'not 1 to 40 of 0-9 * #, with or without a + in front':
    '0-9 * # karakterlerinden 1 ile 40 tane değil (başında + olabilir)',
  'not up to 32 digits, with or without a + in front': 'en çok 32 rakam değil (başında + olabilir)',
  'in braces there can be {number}, {name}, {conversation} and {queue} only':
    'süslü ayraç içinde yalnızca {number}, {name}, {conversation} ve {queue} olabilir',
  'not an address that begins with https:// or http:// and a host':
    'https:// ya da http:// ve bir makine adıyla başlayan bir adres değil',
  'a whole number': 'bir tam sayı olmalı',
  'not a code: small letters, digits, "_" and "-", 64 at most':
    'bir kod değil: küçük harfler, rakamlar, "_" ve "-", en çok 64',
  'not the id of a conversation': 'bir görüşmenin kimliği değil',
  'holds a control character': 'bir denetim karakteri içeriyor',
  'not the id of a note': 'bir notun kimliği değil',
  'not the name of a codec': 'bir kodek adı değil',
  'not a queue': 'bir kuyruk değil',
  'a column is named twice': 'bir sütun iki kez yazılmış',
  'not an id of an export': 'bir dışa aktarımın numarası değil',
  'not a whole number': 'bir tam sayı değil',
  'not a cursor of this list': 'bu listenin bir imleci değil',
  'a scope is named twice': 'bir kapsam iki kez yazılmış',
  'not an id of an API key': 'bir API anahtarının numarası değil',
  'not an id of a session': 'bir oturumun numarası değil',
  'has no text: null is for none': 'metni yok: hiçbiri için null yazılır',
  'not a number': 'bir numara değil',
  'not an id': 'bir kimlik numarası değil',
  'not the name of a queue': 'bir kuyruk adı değil',
  'not the id of a caller who waits': 'bekleyen bir arayanın kimliği değil',
  'not the id of a recording': 'bir kaydın kimliği değil',
  'holds a NUL': 'bir NUL içeriyor',
  'longer than 1024 bytes': '1024 bayttan uzun',
  'shorter than 8 bytes': '8 bayttan kısa',
  'not a topic; topics are presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config and system, some with /<extension>, /<queue> or /mine':
    'bir konu değil; konular: presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config ve system, bazıları /<extension>, /<queue> ya da /mine ile',
  'expected <seq>:<check> of an event': 'bir olayın <seq>:<check> değeri bekleniyor',
  'not an id of a webhook': 'bir webhook numarası değil',
  'not a host, an address or a network of at least 8 bits such as 10.1.0.0/16':
    '10.1.0.0/16 gibi en az 8 bitlik bir ağ, bir makine adı ya da bir adres değil',
  'not a host, an address or a network such as 10.1.0.0/16':
    '10.1.0.0/16 gibi bir ağ, bir makine adı ya da bir adres değil',
  'not the number of an apply': 'bir uygulamanın numarası değil',
  'not the number of a version': 'bir sürümün numarası değil',
  'the file has {0} bytes': 'dosya {0} bayt',
  'an integer': 'tam sayı',
  null: 'null',
  '{0}: not * and not tags in quotes': '{0}: ne * ne de tırnak içinde etiketler',
  'body: a string contains an unpaired UTF-16 surrogate':
    'body: bir metin eşi olmayan bir UTF-16 vekil kodu içeriyor',
  'body: the key "{0}" occurs twice; send it once': 'body: "{0}" anahtarı iki kez var; bir kez gönderin',
  'body: nested deeper than {0}': 'body: {0} düzeyden derin',
  'request bodies use all the memory set aside for them; send it again later':
    'istek gövdeleri ayrılan belleğin tamamını kullanıyor; daha sonra yeniden gönderin',
  'your other requests use all the memory one caller may use for bodies; send this one when they are answered':
    'diğer istekleriniz bir istemcinin gövdeler için kullanabileceği belleğin tamamını kullanıyor; onlar yanıtlanınca gönderin',
  'body: more than {0} values; send fewer at once': 'body: {0} değerden çok; bir kerede daha azını gönderin',
  '{0} changes of {1} are already waiting; try again later':
    '{1} için {0} değişiklik zaten bekliyor; daha sonra yeniden deneyin',
  'too many writes are waiting': 'çok sayıda yazma bekliyor',
  'the writes before this one did not end': 'bundan önceki yazmalar bitmedi',
  'more than {0} streams are open': '{0} akıştan çoğu açık',
  'topics: you have no access to {0}': 'topics: {0} konusuna erişiminiz yok',
  'topics: {0} is personal and not available to API keys':
    'topics: {0} kişiseldir ve API anahtarlarına açık değildir',
  'topics: {0} is outside the queues and extensions of this API key':
    'topics: {0} bu API anahtarının kuyruk ve dahilileri dışında',
  'this API key lacks the scope {0}, which {1} needs': 'bu API anahtarının {1} için gereken {0} kapsamı yok',
  'binary frame: send each frame as text with one JSON object':
    'ikili çerçeve: her çerçeveyi tek JSON nesnesi içeren metin olarak gönderin',
  'more than 100 frames per second; send fewer': "saniyede 100'den fazla çerçeve; daha az gönderin",
  'too many changes of the subscription; slow down': 'abonelik çok sık değişti; yavaşlayın',
  'more than {0} commands are under way': '{0} komuttan çoğu sürüyor',
  'topics: more than {0} in one subscription': 'topics: tek abonelikte {0} konudan çok',
  'the snapshot cannot be built now; try again later':
    'anlık durum şu anda oluşturulamıyor; daha sonra yeniden deneyin',
  'the frame is not JSON': 'çerçeve JSON değil',
  'the frame is not a JSON object': 'çerçeve bir JSON nesnesi değil',
  'op: must be subscribe, unsubscribe, ping, pong or command':
    'op: subscribe, unsubscribe, ping, pong ya da command olmalı',
  'Last-Event-ID: must be the id of an event, a whole number':
    'Last-Event-ID: bir olayın id değeri, yani bir tam sayı olmalı',
  'too many tickets were issued and not used; use one or wait until they expire':
    'çok sayıda kullanılmamış bilet var; birini kullanın ya da sürelerinin dolmasını bekleyin',
  'not the name of a setting': 'bir ayar adı değil',
  'not the key of a connector file': 'bir bağlayıcı dosyasının anahtarı değil',
  'not an id of a connector': 'bir bağlayıcının id değeri değil',
  'not an id of an entry': 'bir kaydın id değeri değil',
  'give either file or source': 'file ya da source, yalnızca birini verin',
  'a site has at most {0} connectors; delete one': 'en çok {0} bağlayıcı olabilir; birini silin',
  'source: this connector uses a file of the list': 'source: bu bağlayıcı listedeki bir dosyayı kullanıyor',
  'a test of this connector is under way': 'bu bağlayıcının bir denemesi sürüyor',
  'there is no such entry': 'böyle bir kayıt yok',
  'the entry is {0}, so it needs no retry': 'kayıt {0} durumunda, yeniden denemek gerekmiyor',
  'there is no such connector': 'böyle bir bağlayıcı yok',
  'file: {0}': 'file: {0}',
  'source: {0}': 'source: {0}',
  'body: {0}': 'body: {0}',
  'settings.{0}: {1}': 'settings.{0}: {1}',
  'there is no such webhook': 'böyle bir webhook yok',
  'url: {0} does not resolve to a public address': 'url: {0} herkese açık bir adrese çözümlenmiyor',
  'topics: {0} is beyond the rights of who owns this webhook':
    "topics: {0} bu webhook'un sahibinin yetkisi dışında",
  'a site has at most {0} webhooks; delete one': 'en çok {0} webhook olabilir; birini silin',
  'who owns this webhook is gone; delete it and create another':
    "bu webhook'un sahibi artık yok; silin ve yenisini oluşturun",
  'topics: who owns this webhook may hear none of them':
    "topics: bu webhook'un sahibi bunların hiçbirini dinleyemez",
  'a test of this webhook is under way': "bu webhook'un bir denemesi sürüyor",
  'enable this webhook first': "önce bu webhook'u açın",
  'a replay is under way, up to {0}': '{0} konumuna kadar yeniden gönderim sürüyor',
  'from: no event after {0} has been delivered yet': 'from: {0} sonrasından henüz bir şey geçmedi',
  'url: not a URL': 'url: bir URL değil',
  'url: only http and https are called': 'url: yalnızca http ve https çağrılır',
  'url: it holds credentials': 'url: kimlik bilgisi içeriyor',
  'address: it holds credentials': 'address: kimlik bilgisi içeriyor',
  'url: it holds a blank or a backslash': 'url: boşluk ya da ters eğik çizgi içeriyor',
  'url: a fragment is never sent': 'url: # ile başlayan bölüm gönderilmez',
  'url: write the host as {0}': 'url: makine adını {0} olarak yazın',
  'url: requests to port {0} are not allowed': 'url: {0} portu çağrılmaz',
  'url: the host ends in a full stop': 'url: makine adı noktayla bitiyor',
  'url: {0} is not a public address; an administrator can allow it in the settings of webhooks':
    'url: {0} herkese açık bir adres değil; bir yönetici webhook ayarlarında buna izin verebilir',
  'this path accepts only WebSocket: send an upgrade request':
    'bu yol yalnızca WebSocket kabul eder: yükseltme isteği gönderin',
  'the WebSocket handshake is not valid; it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key':
    'WebSocket el sıkışması geçerli değil; Sec-WebSocket-Version 13 ve bir Sec-WebSocket-Key gerekir',
  'ticket: unknown, already used or older than 30 seconds; request a new one':
    'ticket: bilinmiyor, kullanılmış ya da 30 saniyeden eski; yenisini isteyin',
  'Origin: a session cookie is accepted only from the origin of this service; other origins use a bearer token':
    'Origin: oturum çerezi yalnızca bu hizmetin kökeninden kabul edilir; diğer kökenler bearer belirteci kullanır',
  'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again':
    'bu oturum son 5 dakikada onaylanmadı: POST /api/v1/session/confirm gönderin, sonra isteği yineleyin',
  'the upload is larger than {0} bytes': 'yükleme {0} bayttan büyük',
  'the body ended early': 'gövde erken bitti',
  'Content-Type must be audio/… or application/octet-stream':
    'Content-Type audio/… ya da application/octet-stream olmalı',
  'Content-Type must be application/json in UTF-8': 'Content-Type UTF-8 application/json olmalı',
  'Content-Type must be application/json or {0} in UTF-8':
    'Content-Type UTF-8 application/json ya da {0} olmalı',
  'Content-Encoding is not supported; send the body uncompressed':
    'Content-Encoding desteklenmiyor; gövdeyi sıkıştırmadan gönderin',
  'the body is larger than {0} bytes': 'gövde {0} bayttan büyük',
  'body: not valid UTF-8': 'body: geçerli UTF-8 değil',
  'body: the field "{0}" occurs twice; send it once': 'body: "{0}" alanı iki kez var; bir kez gönderin',
  'body: the field __proto__ is refused': 'body: __proto__ alanı kabul edilmez',
  'body: broken percent-encoding': 'body: yüzde kodlaması bozuk',
  'there is no such path; this address has /metrics, /healthz and /readyz':
    'böyle bir yol yok; bu adreste /metrics, /healthz ve /readyz var',
  'this path takes GET': 'bu yol GET kabul eder',
  'the service failed': 'hizmet başarısız oldu',
  'this site requires a second factor: POST /api/v1/session/otp, then /api/v1/session/otp/confirm':
    'bu yer ikinci etken istiyor: POST /api/v1/session/otp, sonra /api/v1/session/otp/confirm',
  'this path accepts no WebSocket; the event stream is /api/v1/stream':
    'bu yol WebSocket kabul etmez; olay akışı /api/v1/stream yolundadır',
  'Origin: this origin is not allowed; an administrator can add it to the allowed origins':
    'Origin: bu köken izinli değil; bir yönetici onu izinli kökenlere ekleyebilir',
  '"{0}" is not allowed in the address, which logs keep; send it in a header':
    '"{0}" adreste olamaz, çünkü adresler günlüklere yazılır; bir başlıkta gönderin',
  'Idempotency-Key: 1 to 255 printable characters without spaces':
    'Idempotency-Key: boşluksuz 1 ile 255 yazdırılabilir karakter',
  'the results of repeated requests cannot be stored now; try again later':
    'yinelenen isteklerin sonuçları şu anda saklanamıyor; daha sonra deneyin',
  'Idempotency-Key: the first attempt was interrupted or its stored reply is unreadable, so its result is unknown; check the state, then use a new key':
    'Idempotency-Key: ilk deneme yarıda kaldı ya da saklanan yanıtı okunamıyor, bu yüzden sonucu bilinmiyor; durumu denetleyin, sonra yeni bir anahtar kullanın',
  'Idempotency-Key: already used with another body; use a new key':
    'Idempotency-Key: başka bir gövdeyle kullanıldı; yeni bir anahtar kullanın',
  'action: no command has this name; see the commands of the stream in /api/v1/asyncapi.json':
    'action: bu adda komut yok; akışın komutları /api/v1/asyncapi.json belgesinde',
  'data: must be an object': 'data: bir nesne olmalı',
  'the body is larger than this path takes': 'gövde bu yolun kabul ettiğinden büyük',
  'body: an empty body is not valid JSON; send at least {}':
    'body: boş gövde geçerli JSON değildir; en az {} gönderin',
  'this is not an HTTP/1.1 request': 'bu bir HTTP/1.1 isteği değil',
  'this path accepts only SIP over WebSocket: send an upgrade request':
    'bu yol yalnızca WebSocket üzerinden SIP kabul eder: yükseltme isteği gönderin',
  'Sec-WebSocket-Protocol must name "sip"': 'Sec-WebSocket-Protocol "sip" içermeli',
  'too many connections; try again later': 'çok sayıda bağlantı; daha sonra yeniden deneyin',
  'the connection was closed meanwhile': 'bağlantı bu arada kapandı',
  'the engine takes no SIP connection now: {0}': 'santral şu anda SIP bağlantısı kabul etmiyor: {0}',
  'is not valid here': 'burada geçerli değil',
  'the answer has {0} bytes, more than {1}; read single objects instead':
    'yanıt {0} bayt, {1} bayttan çok; bunun yerine nesneleri tek tek okuyun',
  'the answer has {0} bytes, more than {1}; narrow it by {2}':
    'yanıt {0} bayt, {1} bayttan çok; şununla daraltın: {2}',
  'a cookie is not accepted here; send the API key or session as a bearer token':
    'burada çerez kabul edilmez; API anahtarını ya da oturumu bearer token olarak gönderin',
  '{0} messages of {1} are under way; wait for one of them':
    '{1} için {0} ileti işleniyor; birinin bitmesini bekleyin',
  'a session only reads here; use an API key with the scope {0}':
    'oturum burada yalnızca okur; {0} kapsamlı bir API anahtarı kullanın',
  'arguments: {0} characters are more than a person can confirm; send at most {1}':
    'arguments: {0} karakter bir insanın onaylayabileceğinden fazla; en çok {1} gönderin',
  'begins with one /, after the base': 'base adresinden sonra tek bir / ile başlar',
  'not the name of a header': 'bir başlık adı değil',
  'exactly one of get, post, put, patch and delete with its path':
    'get, post, put, patch ve delete içinden tam olarak biri, yoluyla birlikte',
  'not the name of a form field': 'bir form alanının adı değil',
  'an attach is no get': 'attach bir get olamaz',
  'file and body exclude each other': 'file ile body birlikte kullanılamaz',
  'needs `url` or `show`': '`url` veya `show` gerekir',
  '`hide` needs `show`': '`hide` için `show` gerekir',
  'not a number format': 'bir numara biçimi değil',
  '`once: find` and `find` belong together': '`once: find` ile `find` birlikte yazılır',
};
