// What of a request's target may be told: the path, without query string, fragment, scheme, host and the
// user's name and password that can stand before a host.
'use strict';

const KEEPS_QUERY = process.env.SLOWPATH_NODE_QUERY === '1';

function pathOf(target) {
  if (typeof target !== 'string') return '';
  let begin = 0;
  if (target.charCodeAt(0) !== 47 /* slash */) {
    const host = target.indexOf('://') + 3;
    if (host < 3) return ''; // "*", or the host and port of CONNECT
    begin = target.slice(host).search(/[/?#]/);
    if (begin < 0) return '/';
    begin += host;
  }
  const length = target.slice(begin).search(KEEPS_QUERY ? /#/ : /[?#]/);
  return length < 0 ? target.slice(begin) : target.slice(begin, begin + length);
}

module.exports = { pathOf };
