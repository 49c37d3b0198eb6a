// What of a request's target may be told: the path, without its parameters, query string, fragment, scheme, host and
// the user's name and password that can stand before a host.
'use strict';

const KEEPS_QUERY = process.env.SLOWPATH_NODE_QUERY === '1';

function pathOf(target) {
  if (typeof target !== 'string') return '';
  let begin = 0;
  if (target.charCodeAt(0) !== 47 /* slash */) {
    const host = target.indexOf('://') + 3;
    if (host < 3) return ''; // "*", or the host and port of CONNECT
    begin = first(target, '/', host, first(target, '?', host, first(target, '#', host, target.length)));
    if (begin === target.length) return '/';
  }
  const fragment = first(target, '#', begin, target.length);
  const query = first(target, '?', begin, fragment);
  const path = withoutSecrets(target.slice(begin, query));
  return KEEPS_QUERY ? path + target.slice(query, fragment) : path;
}

/** Where `sign` is first in `text` from `begin` on, if that is before `end`; else `end`. Patterns take longer. */
function first(text, sign, begin, end) {
  const place = text.indexOf(sign, begin);
  return place < 0 || place > end ? end : place;
}

/** Without parameters (";jsessionid=…"), and without user and password of a URL that is part of the path. */
function withoutSecrets(path) {
  // Nearly every path.
  if (!path.includes(';') && !path.includes('//')) return path;
  // No pattern that looks at a character more than twice: anybody may send any path.
  return path
    .replace(/;[^/]*/g, '')
    .replace(/\/\/[^/]*@/g, (authority) => (authority.includes(':') ? '//' : authority));
}

module.exports = { pathOf };
